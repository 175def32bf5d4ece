/* Shows the events and messages of a conversation: which part each belongs to, and what becomes of it. The page's and the widget's. */

import { Versions, editAgain, fold, goOnButton } from "./branches.js";
import { make } from "./elements.js";
import { failureText } from "./failures.js";
import { Footers } from "./footers.js";
import { gettext, ngettext } from "./i18n.js";
import { canGoOn, saidOf, switchedLines, whyCut, wholeId } from "./shared.js";
import { Decisions, ToolCard, placeCard } from "./toolcard.js";

const STOPPED = gettext("Stopped.");

/** Its subclasses say where what they show stands:
 *
 * - `turn`: the assistant's turn, begun if there is none, and `items`: the element of its parts
 * - `noticeClass`: of the lines of a turn that say what became of it
 * - `showFiles(card, files)`: shows what a call's tool returned, below its card
 * - `fail(event, isLive)`: shows a failure
 * - `citePassages(turn, passages)`: marks passages of documents in the answers of a turn
 */
export class EventView {
  answers = new Map();
  cards = new Map();
  reasonings = new Map();
  files = new Map(); // what a call's tool returned, by the id of the call
  decisions = new Decisions();
  #queued = null; // the notice of a run that waits for its turn
  #isFailing = false; // whether the model of this conversation is
  #toolsOff = []; // those that were said to be off, as in `thread.tools`
  #parts;

  /** `actions`: retry(question), resume(entries), again(question, model), edit(messageId, text, files), goOn(), show(messageId),
   * rate(messageId, rating, comment), suggest(text), announce(text), models(), those to choose from for another answer, audience(), "visitor" or "member",
   * details(), name and script of what optional apps add to answers, address(url) and load(address) of what these ask the server for.
   * `parts`: the classes Answer and Reasoning, and nodesOf(html). */
  constructor(root, actions, parts) {
    this.root = root;
    this.actions = actions;
    this.#parts = parts;
    this.versions = new Versions(root, actions);
    this.footers = new Footers({
      turnOf: (messageId) => this.answers.get(messageId)?.element.closest(".turn"),
      textsOf: (turn) => this.idsOf(turn).map((id) => [id, this.answers.get(id).text]),
      models: () => actions.models(),
      again: (model) => actions.again(this.lastMessage, model),
      rate: (...rating) => actions.rate(...rating),
      announce: (text) => actions.announce(text),
      cite: (turn) => this.cite(turn),
      suggest: (text) => actions.suggest(text),
    });
  }

  // Messages of the user

  user(messageId) {
    return this.root.querySelector(`.user[data-id="${CSS.escape(messageId)}"]`);
  }

  /** The element of the last question; undefined if there is none. */
  get lastQuestion() {
    return [...this.root.querySelectorAll(".user")].at(-1);
  }

  get lastMessage() {
    return this.lastQuestion?.message ?? null;
  }

  /** Open the form of a question again, with a text that could not be sent. Returns whether it is there. */
  edit(messageId, text) {
    const article = this.user(messageId);
    return Boolean(article) && editAgain(article, text);
  }

  remove(messageId) {
    this.user(messageId)?.remove();
  }

  // What the assistant's turns consist of

  #part(map, id, make) {
    if (!map.has(id)) map.set(id, make());
    const part = map.get(id);
    if (part.element.isConnected) return part;
    if (part instanceof ToolCard) placeCard(this.items, part);
    else this.items.append(part.element);
    return part;
  }

  answer(id) {
    return this.#part(this.answers, id, () => new this.#parts.Answer(id));
  }

  card(id, name = "tool") {
    return this.#part(this.cards, id, () => new ToolCard(id, name));
  }

  reasoning(id) {
    return this.#part(this.reasonings, id, () => new this.#parts.Reasoning(id));
  }

  /** The ids of a turn's answers, without those of delegates. */
  idsOf(turn) {
    return this.answersOf(turn).map(({ dataset }) => dataset.id);
  }

  answersOf(turn) {
    return [...(turn?.querySelectorAll(":scope > .items > .answer") ?? [])];
  }

  // Events

  event(event) {
    if (event.type !== "CUSTOM") this.#begins();
    event.messageId = wholeId(event.messageId);
    if (event.subagentRunId) this.delegate(event);
    else this.apply(event);
  }

  apply(event) {
    HANDLERS[event.type]?.(this, event);
  }

  /** A delegate's event, which is shown where cards have a place for it. */
  delegate() {}

  block(value) {
    this.answers.get(value.messageId)?.close(value);
  }

  /** Show how a call ended, and files that it returned below its card, which is closed: they are what was asked for. */
  finish(card, value) {
    card.finish(value);
    if (value.media?.length) this.showFiles(card, value.media);
  }

  /** Fold a message away that was cut when its process died: the same step follows in another message. */
  fold(id) {
    const cards = [...this.cards.values()].filter((one) => one.of === id);
    fold(this.items, [this.reasonings.get(`${id}-reasoning`), this.answers.get(id), ...cards, ...cards.map((card) => this.files.get(card.id))]);
  }

  /** Add a line about a turn, and about one of its messages if `about` is given. Returns it. */
  notice(text, about = "") {
    const line = make("p", { "data-about": about }, text);
    line.className = this.noticeClass;
    this.items.append(line);
    return line;
  }

  /** Remove the notice that a message was cut off: snapshots mark messages as partial that are still being written. */
  goesOn(messageId) {
    for (const line of this.root.querySelectorAll(`.${this.noticeClass}`)) if (line.dataset.about === messageId) line.remove();
  }

  queue({ ahead }) {
    this.#queued = this.notice(ngettext("Waiting: too many answers at once. %(count)s comes first.", "Waiting: too many answers at once. %(count)s come first.", ahead));
  }

  #begins() {
    this.#queued?.remove();
    this.#queued = null;
  }

  clearFailures() {
    for (const old of this.root.querySelectorAll(".failure, .go-on")) old.remove();
  }

  /** Show how a run ended. `isLive`: that was received as it happened, not with a snapshot. Returns the sentence to announce. */
  end(event, isLive) {
    this.#begins();
    const outcome = event.outcome?.type;
    if (event.type === "RUN_ERROR") {
      this.fail(event, isLive);
      return gettext("The answer failed. %(reason)s", { reason: this.reasonOf(event) });
    }
    const last = this.turn.querySelector(":scope > .items").lastElementChild;
    const notice = last?.className === this.noticeClass ? last : null;
    if (outcome === "cancelled") {
      if (notice?.textContent !== STOPPED) this.notice(STOPPED); // unless the snapshot has said so
      return gettext("The answer was stopped.");
    }
    if (outcome === "interrupt") {
      const { interrupts } = event.outcome;
      this.decisions.ask(interrupts, (id) => this.card(id), this.actions);
      return saidOf(interrupts);
    }
    if (notice && canGoOn(notice.textContent)) notice.append(" ", goOnButton(() => this.actions.goOn()));
    return gettext("Answer complete. %(text)s", { text: this.answers.get(this.idsOf(this.turn).at(-1))?.firstSentence ?? "" });
  }

  reasonOf(event) {
    return failureText(event, this.actions.audience());
  }

  /** Move the focus into a question's form. An approval gets none: the next Enter would be taken for a yes. */
  focusQuestion() {
    [...this.cards.values()].find((card) => card.asksQuestion)?.focus();
  }

  /** Show why the server refused the decisions, and ask for all of them again. */
  askAgain(reason) {
    this.decisions.askAgain(this.cards.values(), reason);
    this.actions.announce(reason);
  }

  // What the server tells of a conversation besides its events

  /** Show what the server knows of answers. */
  details(messages) {
    this.footers.details(messages);
  }

  async cite(turn) {
    const passages = this.footers.passages(this.idsOf(turn));
    if (passages.length) await this.citePassages(turn, passages);
    const { nodesOf } = this.#parts;
    const { address, load } = this.actions;
    const found = { answerOf: (id) => this.answers.get(id), cardOf: (id) => this.cards.get(id)?.element, nodesOf, address, load };
    await this.footers.show(turn, this.idsOf(turn), this.actions.details(), found);
  }

  /** Show what became of a rating. */
  rated(value) {
    this.footers.rated(value);
  }

  /** Show questions that could come next. */
  followUps(questions) {
    this.footers.followUps(questions);
  }

  /** Say which tools of this conversation operators have switched off, or on again, since that was said last. */
  tools(off) {
    for (const line of switchedLines(this.#toolsOff, off)) {
      this.notice(line);
      this.actions.announce(line);
    }
    this.#toolsOff = off;
  }

  /** Say that the model of this conversation fails, or answers again. */
  failing(isFailing) {
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    const line = this.#failingLine();
    this.notice(line);
    this.actions.announce(line);
  }

  #failingLine() {
    return this.#isFailing
      ? gettext("Many answers fail at present, because the service behind them has a problem. What you write is kept: try again in some minutes.")
      : gettext("Answers come again.");
  }

  /** Say after a snapshot which tools are off, and whether the model fails. */
  repeatNotices() {
    if (this.#isFailing) this.notice(this.#failingLine());
    for (const line of switchedLines([], this.#toolsOff)) this.notice(line);
  }

  /** Put the focus back after a switch between versions. */
  refocus() {
    this.versions.refocus();
  }

  // Snapshots

  /** Show an AG-UI message that is not the user's. `oldCards`: those that may be shown again. */
  stored(message, oldCards = new Map()) {
    const versions = this.versions.of(message);
    if (versions) this.footers.of(this.turn).versions = versions;
    if (message.role === "reasoning") this.reasoning(message.id).reset(message.content);
    else if (message.role === "assistant") this.#storedAnswer(message, oldCards);
    else if (message.role === "tool") {
      const card = this.card(message.toolCallId);
      this.finish(card, message.metadata?.tool ?? {});
      card.result(message.content);
    }
  }

  #storedAnswer({ id, content, toolCalls, metadata }, oldCards) {
    if (content) this.answer(id).reset(content);
    const { partial, stopped, superseded, cutReason } = metadata ?? {};
    if (partial && !superseded) this.notice(stopped ? STOPPED : whyCut(cutReason), id);
    for (const call of toolCalls ?? []) {
      const old = oldCards.get(call.id);
      if (old?.isFinished) this.cards.set(call.id, old);
      const card = this.card(call.id, call.function.name);
      card.of = id;
      card.setArguments(call.function.arguments);
      card.setTitle(metadata?.titles?.[call.id]);
    }
    if (superseded) this.fold(id);
  }

  /** Show calls without a result as running: the last turn continues. */
  resumeLast() {
    for (const card of this.cards.values()) if (!card.isFinished) card.start();
  }
}

const HANDLERS = {
  TEXT_MESSAGE_START(view, { messageId }) {
    view.answer(messageId).isStreaming = true;
    view.goesOn(messageId);
  },
  TEXT_MESSAGE_CONTENT(view, { messageId, delta }) {
    view.answer(messageId).append(delta);
  },
  TEXT_MESSAGE_END(view, { messageId }) {
    view.answer(messageId).isStreaming = false;
  },
  REASONING_MESSAGE_START(view, { messageId }) {
    view.goesOn(messageId.replace(/-reasoning$/, ""));
  },
  REASONING_MESSAGE_CONTENT(view, { messageId, delta }) {
    view.reasoning(messageId).append(delta);
  },
  REASONING_MESSAGE_END(view, { messageId }) {
    view.reasoning(messageId).finish();
  },
  TOOL_CALL_START(view, { toolCallId, toolCallName, parentMessageId, metadata }) {
    view.goesOn(parentMessageId);
    view.card(toolCallId, toolCallName).begin(parentMessageId, metadata?.tool?.title);
  },
  TOOL_CALL_ARGS(view, { toolCallId, delta }) {
    view.card(toolCallId).addArguments(delta);
  },
  TOOL_CALL_RESULT(view, { toolCallId, content }) {
    const card = view.card(toolCallId);
    card.settle();
    card.result(content);
  },
  CUSTOM(view, { name, value }) {
    CUSTOM[name]?.(view, value, view.cards.get(value?.toolCallId));
  },
};

const CUSTOM = {
  "tool.started"(view, value, card) {
    if (!card) return;
    card.settle();
    card.start(value.title);
    view.actions.announce(gettext("Using the tool %(title)s", { title: card.title }));
  },
  "tool.progress"(view, value, card) {
    card?.progress(value);
  },
  "tool.finished"(view, value, card) {
    if (!card) return;
    card.settle();
    view.finish(card, value);
  },
  "tool.late"(view, value, card) {
    card?.late(value);
  },
  "run.queued"(view, value) {
    view.queue(value);
  },
  "message.cut"(view, { reason, messageId }) {
    if (reason === "superseded") view.fold(messageId);
    else view.notice(whyCut(reason));
  },
};
