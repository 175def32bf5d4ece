/* A button beside what is selected in an answer, which quotes it in the message box. Loaded with the first selection. */

import { root } from "./dom.js";
import { make } from "./elements.js";
import { gettext } from "./i18n.js";

const MOST = 4_000; // characters
const GAP = 8; // pixels

const answerOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement).closest(".turn.assistant > .items");

/** Return the text that is selected within one answer; "" if there is none. */
export function selectedText() {
  const selection = document.getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return "";
  const range = selection.getRangeAt(0);
  const answer = answerOf(range.startContainer);
  if (!answer || !root.contains(answer)) return "";
  // Three presses on its last paragraph select up to the beginning of a text below it.
  const isWithin = answer.contains(range.endContainer) || (range.endOffset === 0 && answer.parentElement.contains(range.endContainer));
  return isWithin ? selection.toString().trim() : "";
}

/** Return a text as a quotation in Markdown. */
export function quoted(text) {
  const whole = text.length > MOST ? `${text.slice(0, MOST)}…` : text;
  return whole.split(/\n+/).map((line) => `> ${line.trim()}`).join("\n");
}

export class QuoteButton {
  #button;
  #quote;

  /** `quote(text)` is called with a quotation. It is shown within `place` until `signal` aborts. */
  constructor(place, quote, signal) {
    this.#quote = quote;
    this.#button = make("button.quote-button", { type: "button", hidden: true, onclick: () => this.act() }, gettext("Quote"));
    this.#button.addEventListener("pointerdown", (event) => event.preventDefault()); // the selection stays
    place.append(this.#button);
    const hide = () => (this.#button.hidden = true);
    place.addEventListener("scroll", hide, { signal, capture: true, passive: true });
    addEventListener("resize", hide, { signal });
    signal.addEventListener("abort", () => this.#button.remove());
  }

  /** Quote what is selected. */
  act() {
    const text = selectedText();
    this.#button.hidden = true;
    if (!text) return;
    document.getSelection().removeAllRanges();
    this.#quote(quoted(text));
  }

  /** The selection has changed. */
  look() {
    if (!selectedText()) {
      this.#button.hidden = true;
      return;
    }
    const { left, right, top, bottom } = document.getSelection().getRangeAt(0).getBoundingClientRect();
    this.#button.hidden = false;
    const { offsetWidth, offsetHeight, parentElement } = this.#button;
    const around = parentElement.getBoundingClientRect();
    const above = top - offsetHeight - GAP;
    const y = above > around.top + GAP ? above : Math.min(bottom + GAP, innerHeight - offsetHeight - GAP);
    const x = Math.max(around.left + GAP, Math.min((left + right - offsetWidth) / 2, around.right - offsetWidth - GAP));
    Object.assign(this.#button.style, { left: `${x - around.left}px`, top: `${y - around.top}px` });
  }
}
