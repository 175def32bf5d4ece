/* Several tool calls in a row as one line, which opens into their cards. */

import { icon, make } from "./elements.js";
import { TOOL_STATES, duration, touch } from "./shared.js";
import { cardOf, formOfState } from "./toolcard.js";

const groups = new WeakMap();

class Activity {
  #cards = [];
  #sign = make("span.sign");
  #names = make("span.tool-name", { dir: "auto" });
  #time = make("span.tool-time");
  #state = make("span.tool-state.state");
  #body = make("div.activity-body");
  #wasToggled = false;

  constructor() {
    const summary = make("summary", {}, this.#sign, this.#names, this.#time, this.#state, icon("chevron"));
    summary.addEventListener("click", () => (this.#wasToggled = true));
    this.element = make("details.activity", {}, summary, this.#body);
    groups.set(this.element, this);
  }

  add(card) {
    this.#cards.push(card);
    card.group = this;
    this.#body.append(card.element);
    this.change();
  }

  change() {
    touch(this);
  }

  /** Return the state to show, which is the most urgent one, and how many calls have it. */
  get #worst() {
    const of = (test) => this.#cards.filter(test).length;
    const waiting = of(({ state }) => state === "awaiting_approval");
    if (waiting) return ["awaiting_approval", waiting];
    const running = of(({ isFinished }) => !isFinished);
    if (running) return ["running", running];
    const failed = this.#cards.filter(({ state }) => state !== "ok");
    return failed.length ? [failed[0].state, failed.length] : ["ok", 0];
  }

  flush() {
    const [state, count] = this.#worst;
    const names = new Map();
    for (const { title } of this.#cards) names.set(title, (names.get(title) ?? 0) + 1);
    this.#names.textContent = [...names].map(([title, times]) => (times > 1 ? `${title} × ${times}` : title)).join(", ");
    this.#time.textContent = state === "running" ? "" : duration(this.#cards.reduce((sum, card) => sum + card.milliseconds, 0));
    const isPart = count && count < this.#cards.length;
    const words = this.#cards.find((card) => card.state === state)?.stateText ?? TOOL_STATES[state] ?? state;
    this.#state.textContent = isPart ? `${count} of ${this.#cards.length}: ${words.toLowerCase()}` : words;
    if (this.element.dataset.state !== state) this.#sign.replaceChildren(icon(formOfState(state)));
    this.element.dataset.state = state;
    if (state === "awaiting_approval") this.element.open = true;
    else if (!this.#wasToggled) this.element.open = false;
  }
}

/** Put a card at the end of `items`, into one line with the calls directly before it. */
export function placeCard(items, card) {
  if (card.element.isConnected) return;
  const last = items.lastElementChild;
  const known = last && (groups.get(last) ?? null);
  if (known) {
    known.add(card);
  } else if (last && cardOf(last)) {
    const group = new Activity();
    last.replaceWith(group.element);
    group.add(cardOf(last));
    group.add(card);
  } else {
    card.group = null;
    items.append(card.element);
  }
}
