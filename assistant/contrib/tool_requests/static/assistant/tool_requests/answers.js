/* Above the message box: which tools a member has asked for in this conversation, and the answers that they have not seen. */

import { make } from "../js/elements.js";
import { gettext } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";
import { answerText, nameOf } from "./words.js";

export default class ToolAnswers {
  element = make("section.tool-answers", { hidden: true, "aria-label": gettext("Tools that you asked for") });
  #options;
  #said = new Set(); // the answers that were announced

  /** `send(frame)` sends a frame, `current()` returns the conversation that is shown, `open(id)` goes to one. */
  constructor(options, signal) {
    this.#options = options;
    Promise.resolve().then(() => addStyles(this.element.getRootNode(), new URL("./requests.css", import.meta.url).href));
    signal.addEventListener("abort", () => this.element.remove());
  }

  get count() {
    return this.element.childElementCount;
  }

  /** Show those that concern the conversation, and answers to what was asked in others. */
  show({ requests }) {
    const here = this.#options.current();
    const hadFocus = this.element.matches(":focus-within");
    const shown = requests.filter(({ state, threadId }) => threadId === here || state !== "open");
    this.element.replaceChildren(...shown.map((request) => this.#card(request, here)));
    this.element.hidden = !shown.length;
    if (hadFocus) this.#options.focus();
    for (const request of shown) {
      if (request.state === "open" || this.#said.has(request.id)) continue;
      this.#said.add(request.id);
      this.#options.announce(`${nameOf(request)}: ${answerText(request)}`);
    }
  }

  look() {}

  #card(request, here) {
    const { id, state, threadId } = request;
    const { send, open } = this.#options;
    const text = make("p", {}, make("strong", { dir: "auto" }, nameOf(request)), " ", make("span", { dir: "auto" }, answerText(request)));
    const buttons = [];
    if (threadId !== here && open) buttons.push(make("button.button", { type: "button", onclick: () => open(threadId) }, gettext("Open the conversation")));
    if (state !== "open") buttons.push(make("button.button", { type: "button", onclick: () => send({ type: "tool_requests.seen", id }) }, gettext("Read")));
    return make("article.tool-answer", { "data-state": state }, text, make("div.row", {}, ...buttons));
  }
}
