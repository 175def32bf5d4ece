/* A streamed answer: complete Markdown blocks as the server's HTML, and the last, open block as plain text. */

import { piece, touch } from "./dom.js";

// Text nodes longer than this get no more text at the next line break, so that the browser lays out only the end again.
const NODE_LENGTH = 2000;

export class Answer {
  #open;
  #closed;
  #held = "";
  #unshown = "";
  #closedLength = 0;
  #length = 0;
  #blockCount = 0;
  #newBlocks = [];
  #isTailStale = false;
  #parts = [];

  constructor(id) {
    this.id = id;
    this.element = piece("answer");
    this.element.dataset.id = id;
    this.#closed = this.element.querySelector(".closed");
    this.#open = this.element.querySelector(".open");
  }

  /** The text received so far, as Markdown. */
  get text() {
    if (this.#parts.length > 1) this.#parts = [this.#parts.join("")];
    return this.#parts[0] ?? "";
  }

  set isStreaming(value) {
    this.element.classList.toggle("streaming", value);
  }

  append(delta) {
    let text = this.#held + delta;
    this.#held = text.endsWith("\r") ? "\r" : "";
    if (this.#held) text = text.slice(0, -1);
    if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
    this.#parts.push(text);
    this.#unshown += text;
    this.#length += text.length;
    touch(this);
  }

  /** Replace the text. If it begins with the current text, only the rest is added. */
  reset(text) {
    const whole = text.replace(/\r\n?/g, "\n");
    if (whole.startsWith(this.text)) {
      const rest = whole.slice(this.#length);
      if (rest) this.append(rest);
      return;
    }
    this.#parts = [whole];
    this.#length = whole.length;
    this.#closedLength = this.#blockCount = 0;
    this.#newBlocks = [];
    this.#unshown = "";
    this.#isTailStale = true;
    this.#closed.replaceChildren();
    touch(this);
  }

  /** Add a rendered block. Ignores repeated blocks. */
  close({ index, html, length }) {
    if (index !== this.#blockCount) return;
    this.#blockCount += 1;
    this.#closedLength = Math.min(this.#length, this.#closedLength + length);
    this.#newBlocks.push(html);
    this.#isTailStale = true;
    touch(this);
  }

  flush() {
    if (this.#newBlocks.length) {
      const holder = document.createElement("template");
      holder.innerHTML = this.#newBlocks.join("");
      this.#newBlocks = [];
      for (const head of holder.content.querySelectorAll("[data-code] > .code-head")) head.append(piece("copy"));
      this.#closed.append(holder.content);
    }
    if (this.#isTailStale) {
      this.#isTailStale = false;
      this.#open.replaceChildren();
      this.#unshown = this.text.slice(this.#closedLength);
    }
    this.#show();
  }

  #show() {
    let text = this.#unshown;
    this.#unshown = "";
    if (!this.#open.firstChild) text = text.replace(/^\s*\n/, "");
    if (!text) return;
    let last = this.#open.lastChild;
    if (last && last.firstChild.length > NODE_LENGTH) {
      const lineEnd = text.indexOf("\n");
      if (lineEnd >= 0) {
        last.firstChild.appendData(text.slice(0, lineEnd));
        text = text.slice(lineEnd + 1);
        last = null;
      }
    }
    if (last) {
      last.firstChild.appendData(text);
    } else {
      const part = document.createElement("div");
      part.append(document.createTextNode(text));
      this.#open.append(part);
    }
  }
}
