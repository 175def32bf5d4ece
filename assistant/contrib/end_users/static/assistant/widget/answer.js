/* An answer of the widget, and the reasoning before it: folded, and streamed as plain text. */

import { AnswerText } from "../js/answer_text.js";
import { gettext } from "../js/i18n.js";
import { touch } from "../js/shared.js";
import { copyButton, make, nodesOf } from "./elements.js";

function decorate(head) {
  head.append(copyButton(gettext("Copy the code"), () => head.nextElementSibling.textContent));
  import("../js/code_lines.js").then(({ addWrap }) => addWrap(head));
}

export class Answer extends AnswerText {
  constructor(id) {
    const [closed, open] = [make("div.closed"), make("div.open")];
    super({ closed, open, nodesOf, decorate });
    this.element = make("div.answer", { "data-id": id }, closed, open);
  }
}

export class Reasoning {
  #unshown = "";
  #text = document.createTextNode("");
  #label = make("summary", {}, gettext("Thinking"));

  constructor() {
    this.element = make("details.reasoning", {}, this.#label, make("div.thoughts", { dir: "auto" }, this.#text));
  }

  append(delta) {
    this.#unshown += delta;
    touch(this);
  }

  reset(text) {
    this.#text.data = "";
    this.#unshown = "";
    this.append(text);
    this.finish();
  }

  finish() {
    this.#label.textContent = gettext("Thoughts");
  }

  flush() {
    this.#text.appendData(this.#unshown);
    this.#unshown = "";
  }
}
