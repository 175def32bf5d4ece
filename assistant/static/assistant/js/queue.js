/* A message that was written during an answer: it is sent after it, and can be taken back. */

import { make } from "./elements.js";

export class Queue {
  #text = "";
  #shown = make("p.queued-text", { dir: "auto" });

  /** `takeBack(text)` puts the text back where it can be edited. */
  constructor(takeBack) {
    const back = make("button.link-button", { type: "button", onclick: () => takeBack(this.take()) }, "Take back");
    this.element = make("div.queued", { hidden: true, role: "group", "aria-label": "Waiting message" }, make("span.queued-label", {}, "Sent after this answer"), this.#shown, back);
  }

  get text() {
    return this.#text;
  }

  get isEmpty() {
    return !this.#text;
  }

  /** Add a text to what waits. */
  add(text) {
    this.#set(this.#text ? `${this.#text}\n\n${text}` : text);
  }

  /** Return what waits, which no longer does. */
  take() {
    const text = this.#text;
    this.#set("");
    return text;
  }

  #set(text) {
    this.#text = text;
    this.#shown.textContent = text;
    this.element.hidden = !text;
  }
}
