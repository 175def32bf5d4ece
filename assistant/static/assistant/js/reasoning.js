/* A model's reasoning: collapsed, and streamed as plain text. */

import { piece, touch } from "./dom.js";
import { gettext } from "./i18n.js";

export class Reasoning {
  #unshown = "";
  #isDone = false;
  #text;

  constructor(id) {
    this.id = id;
    this.element = piece("reasoning");
    this.element.classList.add("live");
    this.#text = document.createTextNode("");
    this.element.querySelector(".text").append(this.#text);
  }

  append(delta) {
    this.#unshown += delta;
    touch(this);
  }

  reset(text) {
    this.#text.data = "";
    this.#unshown = text;
    this.finish();
  }

  finish() {
    this.#isDone = true;
    touch(this);
  }

  flush() {
    this.#text.appendData(this.#unshown);
    this.#unshown = "";
    this.element.classList.toggle("live", !this.#isDone);
    this.element.querySelector(".label").textContent = this.#isDone ? gettext("Thoughts") : gettext("Thinking");
  }
}
