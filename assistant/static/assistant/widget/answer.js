/* A streamed answer: complete Markdown blocks as the server's HTML, and the last, open block as plain text. */

import { touch } from "../js/shared.js";
import { copyButton, make, nodesOf } from "./elements.js";

export class Answer {
  #closed = make("div.closed");
  #open = make("div.open");
  #parts = [];
  #held = "";
  #length = 0;
  #closedLength = 0;
  #blockCount = 0;

  constructor(id) {
    this.element = make("div.answer", { "data-id": id }, this.#closed, this.#open);
  }

  get text() {
    if (this.#parts.length > 1) this.#parts = [this.#parts.join("")];
    return this.#parts[0] ?? "";
  }

  append(delta) {
    let text = this.#held + delta;
    this.#held = text.endsWith("\r") ? "\r" : ""; // the "\n" after it may come with the next delta
    text = (this.#held ? text.slice(0, -1) : text).replace(/\r\n?/g, "\n");
    this.#parts.push(text);
    this.#length += text.length;
    touch(this);
  }

  /** Add a rendered block. Ignores repeated blocks. */
  close({ index, html, length }) {
    if (index !== this.#blockCount) return;
    const nodes = nodesOf(html);
    if (!nodes) return;
    this.#blockCount += 1;
    for (const head of nodes.querySelectorAll("[data-code] > .code-head")) {
      const code = head.parentElement.querySelector("code");
      head.append(copyButton("Copy the code", () => code.textContent));
    }
    this.#closedLength = Math.min(this.#length, this.#closedLength + length);
    this.#closed.append(nodes);
    touch(this);
  }

  flush() {
    const rest = this.text.slice(this.#closedLength);
    this.#open.textContent = this.#closedLength ? rest.replace(/^\s*\n/, "") : rest;
  }
}
