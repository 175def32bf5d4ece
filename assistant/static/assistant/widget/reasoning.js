/* A model's reasoning in the widget: folded, and streamed as plain text. */

import { touch } from "../js/shared.js";
import { make } from "./elements.js";

export class Reasoning {
  #unshown = "";
  #text = document.createTextNode("");
  #label = make("summary", {}, "Thinking");

  constructor() {
    this.element = make("details.reasoning", {}, this.#label, make("div.thoughts", {}, this.#text));
  }

  append(delta) {
    this.#unshown += delta;
    touch(this);
  }

  finish() {
    this.#label.textContent = "Thoughts";
  }

  flush() {
    this.#text.appendData(this.#unshown);
    this.#unshown = "";
  }
}
