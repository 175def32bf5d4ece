/* A message that was written during an answer: it is sent after it, and can be taken back. */

import { make } from "./elements.js";
import { gettext, ngettext } from "./i18n.js";

export class Queue {
  #text = "";
  #files = [];
  #shown = make("p.queued-text", { dir: "auto" });

  /** `takeBack()` takes what waits, and puts it back where it can be edited. */
  constructor(takeBack) {
    const back = make("button.link-button", { type: "button", onclick: takeBack }, gettext("Take back"));
    this.element = make("div.queued", { hidden: true, role: "group", "aria-label": gettext("Waiting message") }, make("span.queued-label", {}, gettext("Sent after this answer")), this.#shown, back);
  }

  get text() {
    return this.#text;
  }

  /** The content parts of the files that wait. */
  get files() {
    return [...this.#files];
  }

  get isEmpty() {
    return !this.#text && !this.#files.length;
  }

  /** Add a text and content parts of files to what waits. */
  add(text, files = []) {
    this.#files.push(...files);
    this.#set([this.#text, text].filter(Boolean).join("\n\n"));
  }

  /** Return the files that wait, which no longer do. Call this before `take`. */
  takeFiles() {
    return this.#files.splice(0);
  }

  /** Return the text that waits, which no longer does. */
  take() {
    const text = this.#text;
    this.#set("");
    return text;
  }

  #set(text) {
    this.#text = text;
    const count = this.#files.length;
    this.#shown.textContent = [text, count && ngettext("%(count)s file", "%(count)s files", count)].filter(Boolean).join(" · ");
    this.element.hidden = this.isEmpty;
  }
}
