/* An answer of the page. */

import { AnswerText } from "./answer_text.js";
import { piece } from "./dom.js";

/** Return the server's HTML as nodes. */
export function nodesOf(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

export class Answer extends AnswerText {
  constructor(id) {
    const element = piece("answer");
    const [closed, open] = element.children;
    super({ closed, open, nodesOf, decorate: (head) => head.append(piece("copy")) });
    this.id = id;
    this.element = element;
    element.dataset.id = id;
  }

  set isStreaming(value) {
    this.element.classList.toggle("streaming", value);
  }
}
