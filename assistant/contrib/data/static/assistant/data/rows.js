/* What a message is about, as chips above the box: the row on the page, and rows, documents and tools named with @. */

import { icon, make } from "../js/elements.js";
import { gettext, locale, ngettext } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";
import { Suggestions } from "../js/suggestions.js";

const WAIT = 200; // milliseconds after the last letter
const MOST = 5; // rows of a message
const MOST_NAME = 60; // characters after an @
// An @ at the beginning of a word, with what was typed of the name.
const TYPED = new RegExp(`(?:^|[\\s(\\[{"'“„«،])@([^@\\n]{0,${MOST_NAME}})$`, "u");

const kindsOf = (rows) => new Intl.ListFormat(locale, { type: "unit", style: "narrow" }).format(new Set(rows.map(({ kind }) => kind)));
const isNamedIn = (text, { label }) => text.includes(`@${label}`);

export default class Rows {
  #options;
  #shown = []; // those of chips
  #named = []; // those that were chosen after an @, each with its chip while its name is in the box
  #asked = null;
  #timer = 0;
  #chips = make("ul.row-chips", { hidden: true, "aria-label": gettext("What this is about") });
  #names;

  constructor(options, signal) {
    this.#options = options;
    const { box, form, query, announce } = options;
    this.#names = new Suggestions(
      {
        box,
        form,
        announce,
        label: gettext("What has this name"),
        content: ({ label, kind }) => [make("bdi.row-label", {}, label), make("span.row-kind", {}, kind)],
        choose: (row) => this.#choose(row),
        said: (count, found) => ngettext("%(count)s found (%(kinds)s), choose with the arrow keys", "%(count)s found (%(kinds)s), choose with the arrow keys", count, { kinds: kindsOf(found) }),
        changed: () => this.#fit(),
      },
      signal,
    );
    this.element = make("div.rows-of-message", { hidden: true }, this.#names.element, this.#chips);
    box.addEventListener("input", () => this.typed(), { signal });
    box.addEventListener("change", () => this.#fit(), { signal }); // it was emptied, or filled with a draft
    box.addEventListener("blur", () => clearTimeout(this.#timer), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
    for (const { dataset } of document.querySelectorAll("[data-assistant-row]")) {
      this.#show({ reference: dataset.assistantRow, label: dataset.label, kind: dataset.kind });
    }
    if (query) this.#find({ reference: query }).then((rows) => rows.forEach((row) => this.#show(row)));
    Promise.resolve().then(() => addStyles(this.#chips.getRootNode(), new URL("./rows.css", import.meta.url).href));
  }

  /** What a message adds to its run: the rows of chips, and those whose names are still in its text. */
  forwarded(text) {
    const named = this.#named.filter(({ row }) => isNamedIn(text, row)).map(({ row: { reference, label } }) => ({ reference, name: label }));
    const rows = [...this.#shown.map(({ reference }) => ({ reference })), ...named].slice(0, MOST);
    return rows.length ? { rows } : {};
  }

  // The chips

  #show(row) {
    if (this.#shown.length >= MOST || this.#shown.some(({ reference }) => reference === row.reference)) return;
    this.#shown.push(row);
    this.#chips.append(this.#chip(row, icon("page"), () => this.#shown.splice(this.#shown.indexOf(row), 1)));
    this.#fit();
  }

  /** Return a chip whose button calls `release()` and takes it off. */
  #chip({ label, kind }, sign, release) {
    const take = () => {
      const isLast = chip === this.#chips.lastElementChild;
      const next = (isLast ? chip.previousElementSibling : chip.nextElementSibling)?.querySelector("button") ?? this.#options.box;
      release();
      chip.remove();
      this.#fit();
      this.#options.announce(gettext("%(name)s was taken off", { name: label }));
      next.focus();
    };
    const off = make("button.row-off", { type: "button", title: gettext("Take off"), "aria-label": gettext("Take off %(name)s", { name: label }), onclick: take }, icon("close"));
    const chip = make("li.row-chip", {}, sign, make("span.row-kind", {}, kind), make("bdi.row-label", {}, label), off);
    return chip;
  }

  /** Show the chips of those whose names are in the box. */
  #fit() {
    const { box } = this.#options;
    for (const { row, chip } of this.#named) {
      if (!isNamedIn(box.value, row)) chip.remove();
      else if (!chip.isConnected) this.#chips.append(chip);
    }
    this.#chips.hidden = !this.#chips.childElementCount;
    this.element.hidden = this.#chips.hidden && !this.#names.isOpen;
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
    this.#fit();
    const text = this.#typed;
    const isNamed = text !== null && this.#named.some(({ row }) => text.startsWith(row.label));
    if (text === null || isNamed || /\s$/.test(text)) return this.#names.close();
    if (!text) return this.#names.offer([], gettext("Type the name of what you mean."));
    this.#timer = setTimeout(() => this.#search(text), WAIT);
  }

  async #search(text) {
    const rows = await this.#find({ search: text });
    if (this.#typed !== text) return;
    if (rows.length) this.#names.offer(rows);
    else if (/\s/.test(text)) this.#names.close();
    else this.#names.offer([], gettext("Nothing with this name that you can see."));
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

  #choose(row) {
    const text = this.#typed;
    if (text === null) return;
    const { box } = this.#options;
    if (!this.#named.some((one) => one.row.reference === row.reference)) this.#named.push({ row, chip: this.#chip(row, make("span.row-at", { "aria-hidden": "true" }, "@"), () => this.#unname(row)) });
    const end = box.selectionStart;
    box.setRangeText(`@${row.label} `, end - text.length - 1, end, "end");
    box.dispatchEvent(new Event("input", { bubbles: true }));
    this.#options.announce(gettext("%(name)s was added", { name: row.label }));
    box.focus();
  }

  /** Its name stays in the text as a word. */
  #unname(row) {
    const { box } = this.#options;
    this.#named = this.#named.filter((one) => one.row !== row);
    box.value = box.value.replaceAll(`@${row.label}`, row.label);
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
