/* The turns of a transcript in groups, of which the browser lays out those near what is shown; only these have their buttons.
 *
 * All messages stay in the page, where a search, a print and a screen reader find them. */

import { make } from "./elements.js";

const SIZE = 20; // turns
const NEAR = "1000px";

export class Groups {
  #root;
  #equip;
  #equipped = new WeakSet();
  #near;

  /** `equip(turn)` adds the buttons of a turn, once it comes near; it may be called again. */
  constructor(root, equip) {
    this.#root = root;
    this.#equip = equip;
    const options = { root: root.closest(".scroller"), rootMargin: NEAR };
    const come = (entries) => entries.filter(({ isIntersecting }) => isIntersecting).forEach(({ target }) => this.#come(target));
    this.#near = new IntersectionObserver(come, options);
  }

  #come(group) {
    if (this.#equipped.has(group)) return;
    this.#equipped.add(group);
    for (const turn of group.children) this.#equip(turn);
  }

  /** Add a turn at the end. */
  append(turn) {
    let group = this.#last ?? this.#root.firstElementChild;
    if (group?.childElementCount >= SIZE) group = group.nextElementSibling;
    if (!group) {
      group = make("div.group");
      this.#root.append(group);
      this.#near.observe(group);
    }
    group.append(turn);
    if (this.#equipped.has(group)) this.#equip(turn);
  }

  /** Whether a turn is where its buttons are shown. */
  isNear(turn) {
    return this.#equipped.has(turn.parentElement);
  }

  /** The last group with turns: those after it are left of what was shown before. */
  get #last() {
    return [...this.#root.children].findLast(({ firstChild }) => firstChild);
  }

  get lastTurn() {
    return this.#last?.lastElementChild;
  }

  /** Take all turns out, to be added again. The groups stay: the browser remembers the heights of those out of view. */
  empty() {
    for (const group of this.#root.children) group.replaceChildren();
  }

  /** All turns were added again: add the buttons of the last ones at once, so that nothing moves when they come. */
  settle() {
    for (const group of [...this.#root.children]) if (!group.firstChild) group.remove();
    for (const group of [...this.#root.children].slice(-2)) this.#come(group);
    for (const group of this.#root.children) if (this.#equipped.has(group)) for (const turn of group.children) this.#equip(turn);
  }
}
