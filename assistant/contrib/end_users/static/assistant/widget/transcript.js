/* Shows the messages, tool calls, approvals and outcomes of a conversation in the widget. */

import { Versions, addQuestionTools, editAgain, fold, goOnButton, isToBeAskedAgain } from "../js/branches.js";
import { make } from "../js/elements.js";
import { failureText } from "../js/failures.js";
import { Footers } from "../js/footers.js";
import { gettext } from "../js/i18n.js";
import { canGoOn, describedFile, filesOf, saidOf, switchedLines, textOf, whyCut, wholeId } from "../js/shared.js";
import { Decisions, ToolCard, placeCard } from "../js/toolcard.js";
import { Answer, Reasoning } from "./answer.js";
import { nodesOf } from "./elements.js";

// Errors that would occur again: they get no retry button.
const FINAL = new Set(["invalid_input", "thread_not_found"]);
const STOPPED = gettext("Stopped.");

export class Transcript {
  #root;
  #actions;
  #answers = new Map();
  #calls = new Map();
  #toolsOff = []; // those that were said to be off, as in `thread.tools`
  #reasonings = new Map();
  #media = new Set();
  #decisions = new Decisions();
  #footers;
  #versions;

  /** `actions`: retry(question), resume(entries), decided(), media(list), again(question, model), edit(messageId, text, files), uploads(), goOn(),
   * show(messageId), rate(...), announce(text), suggest(text), audience(), "visitor" or "member"; details(), name and script of what optional apps add to answers; and models, those to choose from for another answer. */
  constructor(root, actions) {
    this.#root = root;
    this.#actions = actions;
    this.#versions = new Versions(root, actions);
    this.#footers = new Footers({
      turnOf: (messageId) => this.#answers.get(messageId)?.element.closest(".turn"),
      textsOf: (turn) => this.#idsOf(turn).map((id) => [id, this.#answers.get(id).text]),
      models: () => actions.models(),
      again: (model) => actions.again(this.#lastQuestion, model),
      rate: (...rating) => actions.rate(...rating),
      announce: (text) => actions.announce(text),
      cite: (turn) => this.#cite(turn),
      suggest: (text) => actions.suggest(text),
    });
  }

  addUser(message) {
    const { id, content } = message;
    if (this.#user(id)) return;
    const text = textOf(content);
    const files = filesOf(content);
    const attached = make("div.media", { hidden: !files.length });
    const bubble = make("p.bubble", { dir: "auto", hidden: !text }, text);
    const article = make("article.user", { "aria-label": gettext("You"), "data-id": id }, attached, bubble, make("p.note"));
    article.message = message;
    const shown = files.map((file) => describedFile(file, this.#actions.uploads()));
    if (files.length) this.#actions.media(shown).then((elements) => attached.append(...elements));
    addQuestionTools(article, this.#versions.of(message), (changed) => this.#actions.edit(id, changed, files));
    this.#root.append(article);
  }

  get #lastQuestion() {
    const article = [...this.#root.querySelectorAll(".user")].at(-1);
    return article ? article.message : null;
  }

  #user(id) {
    return [...this.#root.querySelectorAll(".user")].find((one) => one.dataset.id === id);
  }

  note(id, text) {
    const line = this.#user(id)?.querySelector(".note");
    if (line) line.textContent = text;
  }

  /** Open the form of a question again, with a text that could not be sent. Returns whether it is there. */
  edit(id, text) {
    const article = this.#user(id);
    return Boolean(article) && editAgain(article, text);
  }

  remove(id) {
    this.#user(id)?.remove();
  }

  get #turn() {
    let turn = this.#root.lastElementChild;
    if (!turn?.classList.contains("turn")) {
      turn = make("article.turn", { "aria-label": gettext("Assistant") }, make("div.items"));
      this.#root.append(turn);
    }
    return turn;
  }

  #place(element) {
    if (!element.isConnected) this.#turn.firstChild.append(element);
  }

  #answer(id) {
    if (!this.#answers.has(id)) this.#answers.set(id, new Answer(id));
    const answer = this.#answers.get(id);
    this.#place(answer.element);
    return answer;
  }

  #reasoning(id) {
    if (!this.#reasonings.has(id)) this.#reasonings.set(id, new Reasoning());
    const reasoning = this.#reasonings.get(id);
    this.#place(reasoning.element);
    return reasoning;
  }

  #call(id, name = "tool") {
    if (!this.#calls.has(id)) this.#calls.set(id, new ToolCard(id, name));
    const card = this.#calls.get(id);
    if (!card.element.isConnected) placeCard(this.#turn.firstChild, card);
    return card;
  }

  event(event) {
    if (event.subagentRunId) return;
    const { type, toolCallId, delta } = event;
    const messageId = wholeId(event.messageId);
    if (type === "TEXT_MESSAGE_START") {
      this.#answer(messageId);
      this.#goesOn(messageId);
    }
    if (type === "TEXT_MESSAGE_CONTENT") this.#answer(messageId).append(delta);
    else if (type === "REASONING_MESSAGE_START") this.#goesOn(messageId.replace(/-reasoning$/, ""));
    else if (type === "REASONING_MESSAGE_CONTENT") this.#reasoning(messageId).append(delta);
    else if (type === "REASONING_MESSAGE_END") this.#reasoning(messageId).finish();
    else if (type === "TOOL_CALL_START") {
      this.#call(toolCallId, event.toolCallName).begin(event.parentMessageId, event.metadata?.tool?.title);
      this.#goesOn(event.parentMessageId);
    }
    else if (type === "TOOL_CALL_ARGS") this.#call(toolCallId).addArguments(delta);
    else if (type === "TOOL_CALL_RESULT") this.#result(toolCallId, event.content);
    else if (type === "CUSTOM") this.#custom(event);
  }

  #custom({ name, value }) {
    const card = this.#calls.get(value?.toolCallId);
    if (name === "message.cut") value.reason === "superseded" ? this.#fold(value.messageId) : this.#addNotice(whyCut(value.reason));
    else if (name === "tool.progress") card?.progress(value);
    else if (name === "tool.started") {
      card?.settle();
      card?.start(value.title);
    } else if (name === "tool.finished") this.#finish(value);
  }

  #finish(value) {
    const card = this.#call(value.toolCallId);
    card.settle();
    card.finish(value);
    if (!value.media?.length || this.#media.has(value.toolCallId)) return;
    // Not in the card, which is closed: they are what was asked for.
    const place = make("div.media");
    this.#media.add(value.toolCallId);
    (card.element.closest(".activity") ?? card.element).after(place);
    this.#actions.media(value.media).then((shown) => place.append(...shown));
  }

  #result(id, content) {
    const card = this.#call(id);
    card.settle();
    card.result(content);
  }

  block(value) {
    this.#answers.get(value.messageId)?.close(value);
  }

  #fold(id) {
    const calls = [...this.#calls.values()].filter((one) => one.of === id);
    fold(this.#turn.firstChild, [this.#reasonings.get(`${id}-reasoning`), this.#answers.get(id), ...calls]);
  }

  #addNotice(text) {
    this.#place(make("p.remark", {}, text));
  }

  /** Remove the note that a message was cut off: snapshots mark messages as partial that are still being written. */
  #goesOn(id) {
    for (const note of this.#root.querySelectorAll(".partial")) if (note.dataset.about === id) note.remove();
  }

  clearFailures() {
    for (const old of this.#root.querySelectorAll(".failure, .go-on")) old.remove();
  }

  /** Show how the run ended. `isLive`: that was received as it happened. Returns the sentence to announce. */
  ended(event, isLive) {
    const sentence = this.#end(event, isLive);
    const turn = this.#root.lastElementChild;
    if (turn?.querySelector(".answer")) this.#footers.mark(event.outcome?.type === "interrupt" ? null : turn);
    return sentence;
  }

  #end(event, isLive) {
    const outcome = event.outcome?.type;
    if (event.type === "RUN_ERROR") {
      this.#fail(event, isLive);
      return gettext("The answer failed. %(reason)s", { reason: failureText(event, this.#actions.audience()) });
    }
    if (outcome === "cancelled") {
      if (this.#root.querySelector(".turn:last-child > .items > :last-child")?.textContent !== STOPPED) this.#addNotice(STOPPED);
      return gettext("The answer was stopped.");
    }
    if (outcome === "interrupt") {
      const { interrupts } = event.outcome;
      this.#decisions.ask(interrupts, (id) => this.#call(id), this.#actions);
      return saidOf(interrupts);
    }
    const last = this.#root.querySelector(".turn:last-child > .items > .remark:last-child");
    if (last && canGoOn(last.textContent)) last.append(" ", goOnButton(() => this.#actions.goOn()));
    return gettext("Answer complete. %(text)s", { text: [...this.#answers.values()].at(-1)?.text.slice(0, 400) ?? "" });
  }

  /** A run begins: the answer before it cannot be asked for again. */
  began() {
    this.#footers.mark(null);
  }

  /** Show what the server knows of answers. */
  details(messages) {
    for (const { messageId } of messages) {
      const turn = this.#answers.get(messageId)?.element.closest(".turn");
      if (turn) this.#footers.of(turn);
    }
    this.#footers.details(messages);
  }

  #idsOf(turn) {
    return [...turn.querySelectorAll(".items > .answer")].map(({ dataset }) => dataset.id);
  }

  async #cite(turn) {
    await this.#citePassages(turn);
    const found = { answerOf: (id) => this.#answers.get(id), cardOf: (id) => this.#calls.get(id)?.element, nodesOf, address: this.#actions.address, load: this.#actions.load };
    await this.#footers.show(turn, this.#idsOf(turn), this.#actions.details(), found);
  }

  async #citePassages(turn) {
    const passages = this.#footers.passages(this.#idsOf(turn));
    if (!passages.length) return;
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
    this.#footers.of(turn).element.before(citeSources(passages, [...turn.querySelectorAll(".answer")], open), place);
  }

  rated(value) {
    this.#footers.rated(value);
  }

  /** Say which tools of this conversation operators have switched off, or on again, since that was said last. */
  tools(off) {
    for (const line of switchedLines(this.#toolsOff, off)) {
      this.#addNotice(line);
      this.#actions.announce(line);
    }
    this.#toolsOff = off;
  }

  /** Show questions that could come next. */
  followUps(questions) {
    this.#footers.followUps(questions);
  }

  #fail(event, isLive) {
    const asksAgain = isToBeAskedAgain(this.#turn.firstChild, isLive);
    const act = () => this.#actions.retry(asksAgain ? this.#lastQuestion : null);
    const retry = make("button", { type: "button", onclick: act }, gettext("Try again"));
    this.#place(make("div.failure", {}, make("p", {}, failureText(event, this.#actions.audience())), ...(FINAL.has(event.code) ? [] : [retry])));
  }

  focusQuestion() {
    [...this.#calls.values()].find((card) => card.asksQuestion)?.focus();
  }

  /** Show why the server refused the decisions, and ask for all of them again. */
  askAgain(reason) {
    this.#decisions.askAgain(this.#calls.values(), reason);
    this.#actions.announce(reason);
  }

  /** Replace everything with these AG-UI messages and `pending`, a message not yet sent. */
  snapshot(messages, pending) {
    this.#root.replaceChildren();
    this.#answers.clear();
    this.#calls.clear();
    this.#reasonings.clear();
    this.#media.clear();
    this.#footers.mark(null);
    for (const message of messages) {
      if (message.subagentRunId) continue;
      if (message.role === "user") this.addUser(message);
      else if (message.role === "assistant") this.#addStored(message);
      else if (message.role === "reasoning") this.#addReasoning(message);
      else if (message.role === "tool") {
        this.#finish({ toolCallId: message.toolCallId, ...(message.metadata?.tool ?? {}) });
        this.#result(message.toolCallId, message.content);
      }
    }
    if (pending) this.addUser(pending);
    const last = this.#root.lastElementChild;
    if (last?.querySelector(".answer")) this.#footers.of(last);
    for (const card of this.#calls.values()) if (!card.isFinished) card.start();
    for (const line of switchedLines([], this.#toolsOff)) this.#addNotice(line);
  }

  /** Put the focus back after a switch between versions. */
  refocus() {
    this.#versions.refocus();
  }

  #addReasoning({ id, content, metadata }) {
    this.#addVersions({ id, metadata });
    const reasoning = this.#reasoning(id);
    reasoning.append(content);
    reasoning.finish();
  }

  #addVersions(message) {
    const versions = this.#versions.of(message);
    if (versions) this.#footers.of(this.#turn).versions = versions;
  }

  #addStored({ id, content, toolCalls, metadata }) {
    this.#addVersions({ id, metadata });
    if (content) this.#answer(id).append(content);
    const { partial, stopped, superseded, cutReason } = metadata ?? {};
    if (partial && !superseded) this.#place(make("p.remark.partial", { "data-about": id }, stopped ? STOPPED : whyCut(cutReason)));
    for (const { id: callId, function: called } of toolCalls ?? []) {
      const card = Object.assign(this.#call(callId, called.name), { of: id });
      card.setArguments(called.arguments);
      card.setTitle(metadata?.titles?.[callId]);
    }
    if (superseded) this.#fold(id);
  }
}
