/* A list above the message box from which something is chosen while one types: with the arrow keys, Enter or Tab; Escape
 * closes it. For parts of the box that optional apps add. The box stays what it is for screen readers, since ARIA allows a
 * text area no other role. */

import { make } from "./elements.js";
import { addStyles } from "./styles.js";

const ARIA = ["aria-autocomplete", "aria-haspopup", "aria-controls", "aria-activedescendant"];
let made = 0;

export class Suggestions {
  #options;
  #items = [];
  #active = -1;
  #list;
  #hint = make("p.suggestion-hint", { hidden: true, dir: "auto" });

  /** `options`: box and form; label, of the list; content(item), the children of its row; choose(item); said(count, items), what
   * is announced by announce(text) when it opens; changed(), when it has opened or closed. Keys are read until `signal`
   * aborts. */
  constructor(options, signal) {
    this.#options = options;
    this.#list = make("ul", { id: `suggestions-${(made += 1)}`, role: "listbox", hidden: true, "aria-label": options.label });
    this.element = make("div.suggestions", { hidden: true }, this.#hint, this.#list);
    const { box, form } = options;
    // Before the box's own keys: Enter would send.
    form.addEventListener("keydown", (event) => event.target === box && this.#pressed(event), { signal, capture: true });
    box.addEventListener("blur", () => this.close(), { signal });
    signal.addEventListener("abort", () => this.close());
    this.element.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
    this.#list.addEventListener("click", ({ target }) => this.#choose([...this.#list.children].indexOf(target.closest("[role=option]"))));
    Promise.resolve().then(() => addStyles(this.#list.getRootNode(), new URL("../css/suggestions.css", import.meta.url).href));
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Offer items, or say in a sentence why there are none. */
  offer(items, hint = "") {
    const { content, announce, said, changed } = this.#options;
    const isNew = !items.length && this.#hint.textContent !== hint;
    this.#items = items;
    this.#hint.textContent = hint;
    this.#hint.hidden = !hint;
    this.#list.hidden = !items.length;
    this.#list.replaceChildren(...items.map((item, index) => make("li", { id: `${this.#list.id}-${index}`, role: "option", "aria-selected": "false" }, ...content(item))));
    this.element.hidden = false;
    changed();
    if (items.length) {
      this.#mark(0);
      announce(said(items.length, items));
    } else {
      this.#unmark();
      if (isNew) announce(hint);
    }
  }

  close() {
    if (!this.isOpen) return;
    this.element.hidden = true;
    this.#items = [];
    this.#unmark();
    this.#options.changed();
  }

  #mark(index) {
    const { box } = this.#options;
    this.#active = (index + this.#items.length) % this.#items.length;
    [...this.#list.children].forEach((option, place) => option.setAttribute("aria-selected", String(place === this.#active)));
    const active = this.#list.children[this.#active];
    active.scrollIntoView({ block: "nearest" });
    const values = ["list", "listbox", this.#list.id, active.id];
    ARIA.forEach((name, place) => box.setAttribute(name, values[place]));
  }

  #unmark() {
    this.#active = -1;
    for (const name of ARIA) this.#options.box.removeAttribute(name);
  }

  #pressed(event) {
    if (!this.isOpen || event.isComposing) return;
    const isMove = event.key === "ArrowDown" || event.key === "ArrowUp";
    if (event.key === "Escape") this.close();
    else if (!this.#items.length) return;
    else if (isMove) this.#mark(this.#active + (event.key === "ArrowDown" ? 1 : -1));
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) this.#choose(this.#active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #choose(index) {
    const item = this.#items[index];
    if (!item) return;
    this.close();
    this.#options.choose(item);
  }
}
