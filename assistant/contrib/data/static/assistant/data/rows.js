/* The rows that a message is about: that on the page, as a chip above the box, and those that are named with @. */

import { icon, make } from "../js/elements.js";
import { gettext, ngettext } from "../js/i18n.js";
import { addStyles } from "./styles.js";

const WAIT = 200; // milliseconds after the last letter
const MOST = 5; // rows of a message
const MOST_NAME = 60; // characters after an @
// An @ at the beginning of a word, with what was typed of the name.
const TYPED = new RegExp(`(?:^|[\\s(\\[{"'“„«،])@([^@\\n]{0,${MOST_NAME}})$`, "u");
let made = 0;

export default class Rows {
  #options;
  #shown = []; // those of chips
  #named = []; // those that were chosen after an @
  #offered = [];
  #active = -1;
  #asked = null;
  #timer = 0;
  #chips = make("ul.row-chips", { hidden: true, "aria-label": gettext("What this is about") });
  #list;
  #hint = make("p.row-hint", { hidden: true });
  #popup;

  constructor(options, signal) {
    this.#options = options;
    const id = `row-options-${(made += 1)}`;
    this.#list = make("ul", { id, role: "listbox", hidden: true, "aria-label": gettext("Rows with this name") });
    this.#popup = make("div.row-popup", { hidden: true }, this.#hint, this.#list);
    this.element = make("div.rows-of-message", { hidden: true }, this.#popup, this.#chips);
    const { box, form, query } = options;
    // Before the box's own keys: Enter would send.
    form.addEventListener("keydown", (event) => event.target === box && this.#pressed(event), { signal, capture: true });
    box.addEventListener("input", () => this.typed(), { signal });
    box.addEventListener("blur", () => this.#close(), { signal });
    signal.addEventListener("abort", () => this.#close());
    this.#list.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
    this.#list.addEventListener("click", ({ target }) => this.#choose([...this.#list.children].indexOf(target.closest("[role=option]"))));
    for (const { dataset } of document.querySelectorAll("[data-assistant-row]")) {
      this.#show({ reference: dataset.assistantRow, label: dataset.label, kind: dataset.kind });
    }
    if (query) this.#find({ reference: query }).then((rows) => rows.forEach((row) => this.#show(row)));
    Promise.resolve().then(() => addStyles(this.#list.getRootNode(), "rows.css"));
  }

  /** What a message adds to its run: the rows of chips, and those whose names are still in its text. */
  forwarded(text) {
    const named = this.#named.filter(({ label }) => text.includes(`@${label}`)).map(({ reference, label }) => ({ reference, name: label }));
    const rows = [...this.#shown.map(({ reference }) => ({ reference })), ...named].slice(0, MOST);
    return rows.length ? { rows } : {};
  }

  // The chips

  #show(row) {
    if (this.#shown.length >= MOST || this.#shown.some(({ reference }) => reference === row.reference)) return;
    this.#shown.push(row);
    const name = make("bdi.row-label", {}, row.label);
    const take = () => {
      const isLast = chip === this.#chips.lastElementChild;
      const next = (isLast ? chip.previousElementSibling : chip.nextElementSibling)?.querySelector("button") ?? this.#options.box;
      this.#shown.splice(this.#shown.indexOf(row), 1);
      chip.remove();
      this.#fit();
      this.#options.announce(gettext("%(name)s was taken off", { name: row.label }));
      next.focus();
    };
    const off = make("button.row-off", { type: "button", title: gettext("Take off"), "aria-label": gettext("Take off %(name)s", { name: row.label }), onclick: take }, icon("close"));
    const chip = make("li.row-chip", {}, icon("page"), make("span.row-kind", {}, row.kind), name, off);
    this.#chips.append(chip);
    this.#fit();
  }

  #fit() {
    this.#chips.hidden = !this.#shown.length;
    this.element.hidden = this.#chips.hidden && this.#popup.hidden;
  }

  // Names after an @

  get #typed() {
    const { box } = this.#options;
    if (box.selectionStart !== box.selectionEnd) return null;
    return TYPED.exec(box.value.slice(0, box.selectionStart))?.[1] ?? null;
  }

  /** The text has changed. */
  typed() {
    clearTimeout(this.#timer);
    const text = this.#typed;
    const isNamed = text !== null && this.#named.some(({ label }) => text.startsWith(label));
    if (text === null || isNamed || /\s$/.test(text)) return this.#close();
    if (!text) return this.#offer([], gettext("Type the name of what you mean."));
    this.#timer = setTimeout(() => this.#search(text), WAIT);
  }

  async #search(text) {
    const rows = await this.#find({ search: text });
    if (this.#typed !== text) return;
    if (rows.length) this.#offer(rows);
    else if (/\s/.test(text)) this.#close();
    else this.#offer([], gettext("Nothing with this name that you can see."));
  }

  async #find(query) {
    const { url, headers } = this.#options;
    this.#asked?.abort();
    const { signal } = (this.#asked = new AbortController());
    try {
      const answer = await fetch(`${url}?${new URLSearchParams(query)}`, { headers: headers(), signal });
      return answer.ok ? await answer.json() : [];
    } catch {
      return []; // offline, or asked again
    }
  }

  #offer(rows, hint = "") {
    const isNew = !rows.length && this.#hint.textContent !== hint;
    this.#offered = rows;
    this.#hint.textContent = hint;
    this.#hint.hidden = !hint;
    this.#list.hidden = !rows.length;
    this.#list.replaceChildren(
      ...rows.map(({ label, kind }, index) => make("li", { id: `${this.#list.id}-${index}`, role: "option", "aria-selected": "false" }, make("bdi.row-label", {}, label), make("span.row-kind", {}, kind))),
    );
    this.#popup.hidden = false;
    this.#fit();
    if (rows.length) {
      this.#mark(0);
      this.#options.announce(ngettext("%(count)s row, choose with the arrow keys", "%(count)s rows, choose with the arrow keys", rows.length));
    } else {
      this.#unmark();
      if (isNew) this.#options.announce(hint);
    }
  }

  #mark(index) {
    const { box } = this.#options;
    this.#active = (index + this.#offered.length) % this.#offered.length;
    [...this.#list.children].forEach((option, place) => option.setAttribute("aria-selected", String(place === this.#active)));
    const active = this.#list.children[this.#active];
    active.scrollIntoView({ block: "nearest" });
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "true", "aria-controls": this.#list.id, "aria-activedescendant": active.id })) box.setAttribute(name, value);
  }

  #unmark() {
    this.#active = -1;
    for (const name of ["role", "aria-autocomplete", "aria-expanded", "aria-controls", "aria-activedescendant"]) this.#options.box.removeAttribute(name);
  }

  #close() {
    clearTimeout(this.#timer);
    if (this.#popup.hidden) return;
    this.#popup.hidden = true;
    this.#offered = [];
    this.#unmark();
    this.#fit();
  }

  #pressed(event) {
    if (this.#popup.hidden || event.isComposing) return;
    const isMove = event.key === "ArrowDown" || event.key === "ArrowUp";
    if (event.key === "Escape") this.#close();
    else if (!this.#offered.length) return;
    else if (isMove) this.#mark(this.#active + (event.key === "ArrowDown" ? 1 : -1));
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) this.#choose(this.#active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #choose(index) {
    const row = this.#offered[index];
    const text = this.#typed;
    if (!row || text === null) return;
    const { box } = this.#options;
    if (!this.#named.some(({ reference }) => reference === row.reference)) this.#named.push(row);
    const end = box.selectionStart;
    box.setRangeText(`@${row.label} `, end - text.length - 1, end, "end");
    this.#close();
    box.dispatchEvent(new Event("input", { bubbles: true }));
    this.#options.announce(gettext("%(name)s was added", { name: row.label }));
    box.focus();
  }
}
