/* The list of conversations as one Tab stop: the arrow keys move through it and to the buttons of a row, Home and End to
 * its ends, F2 renames and Delete deletes. */

const STOPS = ".conversation:not([hidden]) > a, .more > [data-after]";

export class Roving {
  #list;
  #search;

  /** `search` is the field above the list, from and to which the up and down keys lead. */
  constructor(list, search) {
    this.#list = list;
    this.#search = search;
    list.addEventListener("focusin", ({ target }) => target.matches(STOPS) && this.#stopAt(target));
    list.addEventListener("keydown", (event) => this.#pressed(event));
    search.addEventListener("keydown", (event) => isPlain(event) && event.key === "ArrowDown" && this.#go(event, this.#stops[0]));
  }

  get #stops() {
    return [...this.#list.querySelectorAll(STOPS)];
  }

  /** The list has changed: the row with the focus stays the stop, else the open conversation, else the first. */
  arrange() {
    for (const button of this.#list.querySelectorAll(".conversation > button")) button.tabIndex = -1;
    const stops = this.#stops;
    this.#stopAt(stops.find((one) => one === document.activeElement) ?? stops.find((one) => one.ariaCurrent) ?? stops[0]);
  }

  #stopAt(stop) {
    for (const one of this.#stops) one.tabIndex = one === stop ? 0 : -1;
  }

  #go(event, element) {
    if (!element) return;
    event.preventDefault();
    element.focus();
  }

  #pressed(event) {
    const row = event.target.closest(".conversation, .more");
    if (!isPlain(event) || !row || event.target.matches("input")) return;
    const stops = this.#stops;
    const place = stops.findIndex((one) => row.contains(one));
    const parts = [...row.querySelectorAll(":scope > a, :scope > button")];
    const forwards = getComputedStyle(row).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const beside = parts[parts.indexOf(event.target) + (event.key === forwards ? 1 : -1)];
    if (event.key === "ArrowDown") this.#go(event, stops[place + 1]);
    else if (event.key === "ArrowUp") this.#go(event, stops[place - 1] ?? this.#search);
    else if (event.key === "Home") this.#go(event, stops[0]);
    else if (event.key === "End") this.#go(event, stops.at(-1));
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") this.#go(event, beside);
    else if (event.key === "F2" || event.key === "Delete") this.#act(event, row, event.key === "F2" ? "rename" : "delete");
  }

  #act(event, row, action) {
    const button = row.querySelector(`[data-action=${action}]`);
    if (!button) return;
    event.preventDefault();
    button.click();
  }
}

const isPlain = ({ altKey, ctrlKey, metaKey, shiftKey }) => !altKey && !ctrlKey && !metaKey && !shiftKey;
