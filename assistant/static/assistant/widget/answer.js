/* An answer of the widget. */

import { AnswerText } from "../js/answer_text.js";
import { copyButton, make, nodesOf } from "./elements.js";

function decorate(head) {
  head.append(copyButton("Copy the code", () => head.nextElementSibling.textContent));
}

export class Answer extends AnswerText {
  constructor(id) {
    const [closed, open] = [make("div.closed"), make("div.open")];
    super({ closed, open, nodesOf, decorate });
    this.element = make("div.answer", { "data-id": id }, closed, open);
  }
}
