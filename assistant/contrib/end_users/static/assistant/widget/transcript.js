/* Shows the messages, tool calls, approvals and outcomes of a conversation in the widget. */

import { addQuestionTools, isToBeAskedAgain } from "../js/branches.js";
import { make } from "../js/elements.js";
import { EventView } from "../js/event_view.js";
import { gettext } from "../js/i18n.js";
import { describedFile, filesOf, textOf } from "../js/shared.js";
import { Answer, Reasoning } from "./answer.js";
import { nodesOf } from "./elements.js";

// Errors that would occur again: they get no retry button.
const FINAL = new Set(["invalid_input", "thread_not_found"]);

export class Transcript extends EventView {
  noticeClass = "remark";

  /** `actions`: those of `EventView`, and decided(), media(list), uploads(). */
  constructor(root, actions) {
    super(root, actions, { Answer, Reasoning, nodesOf });
  }

  addUser(message) {
    const { id, content } = message;
    if (this.user(id)) return;
    const text = textOf(content);
    const files = filesOf(content);
    const attached = make("div.media", { hidden: !files.length });
    const bubble = make("p.bubble", { dir: "auto", hidden: !text }, text);
    const article = make("article.user", { "aria-label": gettext("You"), "data-id": id }, attached, bubble, make("p.note"));
    article.message = message;
    const shown = files.map((file) => describedFile(file, this.actions.uploads()));
    if (files.length) this.actions.media(shown).then((elements) => attached.append(...elements));
    addQuestionTools(article, this.versions.of(message), (changed) => this.actions.edit(id, changed, files));
    this.root.append(article);
  }

  note(id, text) {
    const line = this.user(id)?.querySelector(".note");
    if (line) line.textContent = text;
  }

  get turn() {
    let turn = this.root.lastElementChild;
    if (!turn?.classList.contains("turn")) {
      turn = make("article.turn", { "aria-label": gettext("Assistant") }, make("div.items"));
      this.root.append(turn);
    }
    return turn;
  }

  get items() {
    return this.turn.firstChild;
  }

  showFiles(card, files) {
    if (this.files.has(card.id)) return;
    const element = make("div.media");
    this.files.set(card.id, { element });
    (card.element.closest(".activity") ?? card.element).after(element);
    this.actions.media(files).then((shown) => element.append(...shown));
  }

  /** Show how the run ended. `isLive`: that was received as it happened. Returns the sentence to announce. */
  ended(event, isLive) {
    const sentence = this.end(event, isLive);
    const turn = this.root.lastElementChild;
    if (turn?.querySelector(".answer")) this.footers.mark(event.outcome?.type === "interrupt" ? null : turn);
    return sentence;
  }

  /** A run begins: the answer before it cannot be asked for again. */
  began() {
    this.footers.mark(null);
  }

  details(messages) {
    for (const { messageId } of messages) {
      const turn = this.answers.get(messageId)?.element.closest(".turn");
      if (turn) this.footers.of(turn);
    }
    super.details(messages);
  }

  async citePassages(turn, passages) {
    const { citeSources, passageShown } = await import("../js/sources.js");
    for (const old of turn.querySelectorAll(":scope > :is(.sources, .passage)")) old.remove();
    const place = make("section.passage", { hidden: true, tabIndex: -1, "aria-label": gettext("Source") });
    const open = (passage, number, button) => {
      const close = make("button", { type: "button" }, gettext("Close the source"));
      close.onclick = () => {
        place.hidden = true;
        button.focus();
      };
      place.replaceChildren(...passageShown(passage), close);
      place.hidden = false;
      place.focus({ preventScroll: true });
      place.scrollIntoView({ block: "nearest" });
    };
    this.footers.of(turn).element.before(citeSources(passages, this.answersOf(turn), open), place);
  }

  fail(event, isLive) {
    const asksAgain = isToBeAskedAgain(this.items, isLive);
    const act = () => this.actions.retry(asksAgain ? this.lastMessage : null);
    const retry = make("button", { type: "button", onclick: act }, gettext("Try again"));
    this.items.append(make("div.failure", {}, make("p", {}, this.reasonOf(event)), ...(FINAL.has(event.code) ? [] : [retry])));
  }

  /** Replace everything with these AG-UI messages and `pending`, a message not yet sent. */
  snapshot(messages, pending) {
    this.root.replaceChildren();
    for (const shown of [this.answers, this.cards, this.reasonings, this.files]) shown.clear();
    this.footers.mark(null);
    for (const message of messages) {
      if (message.subagentRunId) continue;
      if (message.role === "user") this.addUser(message);
      else this.stored(message);
    }
    if (pending) this.addUser(pending);
    const last = this.root.lastElementChild;
    if (last?.querySelector(".answer")) this.footers.of(last);
    this.resumeLast();
    this.repeatNotices();
  }
}
