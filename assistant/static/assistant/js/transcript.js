/* Shows the turns of the user and the assistant, from events and snapshots. */

import { Versions, addQuestionTools, editAgain, fold, goOnButton, isToBeAskedAgain } from "./branches.js";
import { Answer, nodesOf } from "./answer.js";
import { announce, copyText, piece } from "./dom.js";
import { make } from "./elements.js";
import { failureText } from "./failures.js";
import { Footers } from "./footers.js";
import { Groups } from "./groups.js";
import { gettext, ngettext } from "./i18n.js";
import { canGoOn, describedFile, filesOf, saidOf, switchedLines, textOf, touch, whyCut, wholeId } from "./shared.js";
import { Reasoning } from "./reasoning.js";
import { Decisions, ToolCard, placeCard } from "./toolcard.js";
import { mediaShown } from "./media.js";
import { Wait } from "./wait.js";

const STOPPED = gettext("Stopped.");
const RETRYABLE = new Set([
  "provider_error", "provider_quota", "provider_rate_limited", "provider_timeout", "internal_error", "interrupted",
  "thread_busy", "limit_reached", "quota_exceeded", "protocol_error",
]);
const ANNOUNCED_CHARACTERS = 400;
// The notice of a run that waits for its turn; the run's next event removes it.
const QUEUED = "queued";
// The answers of a turn, without those of delegates.
const OWN_ANSWERS = ":scope > .items > .answer";

export class Transcript {
  #root;
  #name;
  #answers = new Map();
  #cards = new Map();
  #files = new Map(); // what a call's tool returned, by the id of the call
  #reasonings = new Map();
  #agents = new Map();
  #agentItems = null;
  #turn = null;
  #toolsOff = []; // those that were said to be off, as in `thread.tools`
  #decisions = new Decisions();
  #footers;
  #actions;
  #versions;
  #wait;
  #groups;
  #thinking = piece("thinking");

  /** `models` are those to choose from for another answer. `actions`: retry(question), resume(entries), again(question, model), edit(messageId, text, files), uploads,
   * goOn(), show(messageId), rate(messageId, rating, comment), passage(passage, number), details (name and script of what
   * optional apps add to answers), suggest(text). `isSmall`: whether the model is a small one. */
  constructor(root, assistantName, actions, models = [], isSmall = false) {
    this.#root = root;
    this.#name = assistantName;
    this.#actions = actions;
    this.#wait = new Wait(isSmall);
    this.#groups = new Groups(root, (turn) => this.#equip(turn));
    this.#versions = new Versions(root, { show: (id) => actions.show(id), announce });
    this.#footers = new Footers({
      turnOf: (messageId) => this.#answers.get(messageId)?.element.closest(".turn"),
      textsOf: (turn) => this.#idsOf(turn).map((id) => [id, this.#answers.get(id).text]),
      models: () => models,
      again: (model) => actions.again(this.#lastMessage(), model),
      rate: (...rating) => actions.rate(...rating),
      announce,
      cite: (turn) => this.#cite(turn),
      suggest: (text) => actions.suggest(text),
    });
    root.addEventListener("click", (event) => this.#clicked(event));
  }

  /** Add a message of the user, unless it is shown already. */
  addUser(message) {
    const known = this.#userTurn(message.id);
    if (known) return;
    this.#settleTurn();
    this.#turn = null;
    const article = piece("user");
    article.dataset.id = message.id;
    article.message = message;
    const text = textOf(message.content);
    const bubble = article.querySelector(".bubble");
    bubble.textContent = text;
    bubble.hidden = !text;
    const files = filesOf(message.content);
    if (files.length) bubble.before(make("div.attached", {}, ...files.map((file) => mediaShown(describedFile(file, this.#actions.uploads)))));
    this.#groups.append(article);
  }

  #addTools(article, message) {
    addQuestionTools(article, this.#versions.of(message), (text) => this.#actions.edit(message.id, text, filesOf(message.content)));
  }

  /** Change the last question. Returns whether there is one. */
  editLast() {
    const button = [...this.#root.querySelectorAll(".turn.user:not([data-kind='refused']) .edit")].at(-1);
    button?.click();
    return Boolean(button);
  }

  /** Open the form of a question again, with a text that could not be sent. Returns whether it is there. */
  edit(messageId, text) {
    const article = this.#userTurn(messageId);
    return Boolean(article) && editAgain(article, text);
  }

  /** Put the focus back after a switch between versions. */
  refocus() {
    this.#versions.refocus();
  }

  /** Add the buttons of a turn. */
  #equip(turn) {
    if (turn.classList.contains("user")) this.#addTools(turn, turn.message);
    else if (turn.querySelector(OWN_ANSWERS)) this.#footers.restore(turn, this.#idsOf(turn));
  }

  #userTurn(messageId) {
    return this.#root.querySelector(`.turn.user[data-id="${CSS.escape(messageId)}"]`);
  }

  /** Set the note below a message, such as why it was not sent. Empty: the message was sent. */
  note(messageId, note, kind = "") {
    const article = this.#userTurn(messageId);
    if (!article) return;
    const line = article.querySelector(".note");
    line.textContent = note;
    line.hidden = !note;
    article.dataset.kind = kind;
  }

  remove(messageId) {
    this.#userTurn(messageId)?.remove();
  }

  clearFailures() {
    for (const old of this.#root.querySelectorAll(".failure, .go-on")) old.remove();
  }

  // The assistant's turn

  #openTurn() {
    if (this.#turn) return this.#turn;
    const last = this.#groups.lastTurn;
    if (last?.classList.contains("assistant")) {
      this.#turn = last;
    } else {
      this.#turn = piece("turn");
      this.#turn.setAttribute("aria-label", this.#name);
      this.#groups.append(this.#turn);
    }
    return this.#turn;
  }

  get #items() {
    return this.#agentItems ?? this.#openTurn().querySelector(":scope > .items");
  }

  #place(item) {
    if (item instanceof ToolCard) placeCard(this.#items, item);
    else if (!item.element.isConnected) this.#items.append(item.element);
    return item;
  }

  #get(map, id, make) {
    if (!map.has(id)) map.set(id, make());
    return this.#place(map.get(id));
  }

  #answer(id) {
    return this.#get(this.#answers, id, () => new Answer(id));
  }

  #card(id, name = "tool") {
    return this.#get(this.#cards, id, () => new ToolCard(id, name));
  }

  #reasoning(id) {
    return this.#get(this.#reasonings, id, () => new Reasoning(id));
  }

  working(isWorking) {
    this.#root.setAttribute("aria-busy", String(isWorking));
    if (isWorking) this.#footers.mark(null);
    if (!isWorking) {
      const last = this.#settleTurn();
      if (last?.querySelector(OWN_ANSWERS)) this.#footers.mark(last);
      return;
    }
    const turn = this.#openTurn();
    turn.classList.add("working");
    if (this.#thinking.parentElement !== turn) turn.querySelector(":scope > .items").after(this.#thinking);
    this.#wait.begin(this.#thinking.querySelector(".awaited"));
  }

  /** The assistant's turn is over. Returns its element, if the last turn is one. */
  #settleTurn() {
    this.#wait.end();
    this.#thinking.remove();
    const turn = this.#turn ?? this.#groups.lastTurn;
    if (!turn?.classList.contains("assistant")) return null;
    turn.classList.remove("working");
    for (const answer of this.#answers.values()) answer.isStreaming = false;
    this.#turn = null;
    return turn;
  }

  /** The element of the last question; undefined if there is none. */
  get lastQuestion() {
    return [...this.#root.querySelectorAll(".turn.user")].at(-1);
  }

  #lastMessage() {
    return this.lastQuestion?.message ?? null;
  }

  /** Let a message stand out for a moment: it was looked for. */
  light(messageId) {
    const found = this.#userTurn(messageId) ?? this.#answers.get(messageId)?.element.closest(".turn");
    if (!found) return;
    found.classList.add("hit");
    found.addEventListener("animationend", () => found.classList.remove("hit"), { once: true });
  }

  /** Show what the server knows of answers. */
  details(messages) {
    this.#footers.details(messages);
  }

  #idsOf(turn) {
    return [...turn.querySelectorAll(OWN_ANSWERS)].map(({ dataset }) => dataset.id);
  }

  async #cite(turn) {
    await this.#citePassages(turn);
    const found = { answerOf: (id) => this.#answers.get(id), cardOf: (id) => this.#cards.get(id)?.element, nodesOf, address: (url) => url, load: (address) => fetch(address) };
    await this.#footers.show(turn, this.#idsOf(turn), this.#actions.details ?? [], found);
  }

  async #citePassages(turn) {
    const passages = this.#footers.passages(this.#idsOf(turn));
    if (!passages.length) return;
    const { citeSources } = await import("./sources.js");
    const answers = turn.querySelectorAll(OWN_ANSWERS);
    const list = citeSources(passages, [...answers], (...shown) => this.#actions.passage(...shown));
    turn.querySelector(":scope > .sources")?.remove();
    turn.querySelector(":scope > .items").after(list);
  }

  /** Show what became of a rating. */
  rated(value) {
    this.#footers.rated(value);
  }

  /** Say which tools of this conversation operators have switched off, or on again, since that was said last. */
  tools(off) {
    for (const line of switchedLines(this.#toolsOff, off)) {
      this.#addNotice(line);
      announce(line);
    }
    this.#toolsOff = off;
  }

  /** Show questions that could come next. */
  followUps(questions) {
    this.#footers.followUps(questions);
  }

  event(event) {
    if (this.#turn && event.type !== "CUSTOM") this.#removeNotice(this.#turn, QUEUED);
    event.messageId = wholeId(event.messageId);
    if (event.subagentRunId) this.#subagentEvent(event);
    else (HANDLERS[event.type] ?? ignore).call(this, event);
  }

  /** Show a delegate's event in the card of the call that runs it. */
  #subagentEvent(event) {
    const id = event.subagentRunId;
    if (event.type === "SUBAGENT_STARTED") {
      const { parentToolCallId, name } = event;
      if (this.#agent(id, parentToolCallId, name)) this.#cards.get(parentToolCallId).progress({ message: gettext("%(name)s is working on it", { name }) });
      return;
    }
    const agent = this.#agents.get(id);
    if (!agent) return;
    if (event.type === "SUBAGENT_FINISHED" || event.type === "SUBAGENT_ERROR") {
      this.#endAgent(agent, event.type === "SUBAGENT_FINISHED" ? "ok" : "error", event.message);
      return;
    }
    this.#agentItems = agent.items;
    (HANDLERS[event.type] ?? ignore).call(this, event);
    this.#agentItems = null;
  }

  /** Return the delegate `id` in the card of its call, added if needed; undefined if there is no such card. */
  #agent(id, callId, name) {
    const card = this.#cards.get(callId);
    const known = this.#agents.get(id);
    if (!card || known?.element.closest(".tool") === card.element) return known;
    const element = piece("agent");
    element.querySelector(".agent-name").textContent = name;
    const agent = { element, items: card.addAgent(element, name) };
    this.#agents.set(id, agent);
    return agent;
  }

  #endAgent({ element }, status, message) {
    element.dataset.state = status;
    element.querySelector(".agent-state").textContent = status === "ok" ? gettext("done") : message;
    for (const card of this.#cards.values()) {
      if (element.contains(card.element) && !card.isFinished) card.finish({ status: "cancelled" });
    }
  }

  block(value) {
    this.#answers.get(value.messageId)?.close(value);
  }

  static handlers() {
    return {
      TEXT_MESSAGE_START({ messageId }) {
        this.#answer(messageId).isStreaming = true;
        this.#goesOn(messageId);
      },
      TEXT_MESSAGE_CONTENT({ messageId, delta }) {
        this.#answer(messageId).append(delta);
      },
      TEXT_MESSAGE_END({ messageId }) {
        this.#answer(messageId).isStreaming = false;
      },
      REASONING_MESSAGE_START({ messageId }) {
        this.#goesOn(messageId.replace(/-reasoning$/, ""));
      },
      REASONING_MESSAGE_CONTENT({ messageId, delta }) {
        this.#reasoning(messageId).append(delta);
      },
      REASONING_MESSAGE_END({ messageId }) {
        this.#reasoning(messageId).finish();
      },
      TOOL_CALL_START({ toolCallId, toolCallName, parentMessageId, metadata }) {
        this.#goesOn(parentMessageId);
        this.#card(toolCallId, toolCallName).begin(parentMessageId, metadata?.tool?.title);
      },
      TOOL_CALL_ARGS({ toolCallId, delta }) {
        this.#card(toolCallId).addArguments(delta);
      },
      TOOL_CALL_RESULT({ toolCallId, content }) {
        this.#cards.get(toolCallId)?.settle();
        this.#card(toolCallId).result(content);
      },
      CUSTOM({ name, value }) {
        const card = this.#cards.get(value?.toolCallId);
        if (name === "tool.started") {
          card?.settle();
          card?.start(value.title);
          if (card) announce(gettext("Using the tool %(title)s", { title: card.title }));
        } else if (name === "tool.progress") {
          card?.progress(value);
        } else if (name === "tool.finished") {
          card?.settle();
          if (card) this.#finish(card, value);
        } else if (name === "tool.late") {
          card?.late(value);
        } else if (name === "run.queued") {
          this.#addNotice(ngettext("Waiting: too many answers at once. %(count)s comes first.", "Waiting: too many answers at once. %(count)s come first.", value.ahead), QUEUED);
        } else if (name === "message.cut" && value.reason === "superseded") {
          this.#fold(value.messageId);
        } else if (name === "message.cut") {
          this.#addNotice(whyCut(value.reason));
        }
      },
    };
  }

  /** Show how a call ended, and files that it returned below its card, which is closed: they are what was asked for. */
  #finish(card, value) {
    card.finish(value);
    if (!value.media?.length) return;
    const known = this.#files.get(card.id) ?? { element: make("div.tool-files", {}, ...value.media.map(mediaShown)) };
    this.#files.set(card.id, known);
    known.element.remove();
    let last = card.element.closest(".turn > .items > *");
    while (last?.nextElementSibling?.matches(".tool-files")) last = last.nextElementSibling;
    last?.after(known.element);
  }

  /** Fold a message away that was cut when its process died: the same step follows in another message. */
  #fold(id) {
    const cards = [...this.#cards.values()].filter((one) => one.of === id);
    const files = cards.map((card) => this.#files.get(card.id));
    fold(this.#items, [this.#reasonings.get(`${id}-reasoning`), this.#answers.get(id), ...cards, ...files]);
  }

  #addNotice(text, about = "") {
    const line = document.createElement("p");
    line.className = "stopped";
    line.textContent = text;
    line.dataset.about = about;
    this.#items.append(line);
  }

  /** Remove the notice that a message was cut off: snapshots mark messages as partial that are still being written. */
  #goesOn(messageId) {
    this.#removeNotice(this.#openTurn(), messageId);
  }

  #removeNotice(turn, about) {
    for (const line of turn.querySelectorAll(".stopped")) if (line.dataset.about === about) line.remove();
  }

  /** Show how the run ended. `isLive`: the end was received as it happened, not with a snapshot. */
  ended(event, isLive) {
    this.#removeNotice(this.#openTurn(), QUEUED);
    const outcome = event.outcome?.type;
    if (event.type === "RUN_ERROR") this.#fail(this.#reasonOf(event), RETRYABLE.has(event.code) || !event.code, isLive);
    else if (outcome === "cancelled") this.#addStop();
    else if (outcome === "interrupt") this.#decisions.ask(event.outcome.interrupts, (id) => this.#card(id), this.#actions);
    else this.#offerToGoOn();
    const said = this.#lastText();
    this.working(false);
    if (outcome === "interrupt") this.#footers.mark(null);
    if (!isLive) return;
    if (event.type === "RUN_ERROR") announce(gettext("The answer failed. %(reason)s", { reason: this.#reasonOf(event) }));
    else if (outcome === "cancelled") announce(gettext("The answer was stopped."));
    else if (outcome === "interrupt") announce(saidOf(event.outcome.interrupts));
    else announce(gettext("Answer complete. %(text)s", { text: shortened(said) }));
  }

  #reasonOf(event) {
    return failureText(event, this.#actions.audience);
  }

  /** Offer to go on with an answer that ends with a note that it was cut off. */
  #offerToGoOn() {
    const last = this.#openTurn().querySelector(":scope > .items").lastElementChild;
    if (last?.className !== "stopped" || !canGoOn(last.textContent)) return;
    last.append(" ", goOnButton(() => this.#actions.goOn()));
  }

  /** Say that the answer was stopped, unless the snapshot has said so. */
  #addStop() {
    const last = this.#openTurn().querySelector(":scope > .items").lastElementChild;
    if (last?.className !== "stopped" || last.textContent !== STOPPED) this.#addNotice(STOPPED);
  }

  #lastText() {
    const elements = this.#turn?.querySelectorAll(OWN_ANSWERS) ?? [];
    return this.#answers.get(elements[elements.length - 1]?.dataset.id)?.text ?? "";
  }

  #fail(message, canRetry, isLive) {
    const items = this.#openTurn().querySelector(":scope > .items");
    const box = piece("error");
    box.querySelector(".failure-text").textContent = message;
    box.querySelector("button").hidden = !canRetry;
    box.dataset.asks = isToBeAskedAgain(items, isLive) ? "again" : "";
    items.append(box);
  }

  /** Move the focus into a question's form. An approval gets none: the next Enter would be taken for a yes. */
  focusQuestion() {
    [...this.#cards.values()].find((card) => card.asksQuestion)?.focus();
  }

  /** Show why the server refused the decisions, and ask for all of them again. */
  askAgain(reason) {
    this.#decisions.askAgain(this.#cards.values(), reason);
    announce(reason);
  }

  // Snapshots

  /** Show these AG-UI messages, reusing elements that are on the page already. `pending` is a message not yet sent. */
  snapshot(messages, pending) {
    const cards = this.#cards;
    const users = new Map([...this.#root.querySelectorAll(".turn.user")].map((article) => [article.dataset.id, article]));
    this.#turn = null;
    this.#cards = new Map();
    this.#groups.empty();
    for (const { element } of [...this.#answers.values(), ...this.#reasonings.values()]) if (!element.closest(".agent")) element.remove();
    for (const message of messages) {
      if (message.role === "user") {
        this.#settleTurn();
        const kept = users.get(message.id);
        if (kept) {
          kept.message = message;
          this.#groups.append(kept);
        } else {
          this.addUser(message);
        }
        this.note(message.id, "");
        this.#turn = null;
      } else {
        this.#addStored(message, cards);
      }
    }
    if (pending && !messages.some((message) => message.id === pending.id)) {
      const kept = users.get(pending.id);
      if (kept) this.#groups.append(kept);
      else this.addUser(pending);
      this.#turn = null;
    }
    for (const line of switchedLines([], this.#toolsOff)) this.#addNotice(line);
    for (const turn of this.#root.querySelectorAll(".turn.assistant")) touch({ flush: () => this.#cite(turn) }); // after their answers
    this.#groups.settle();
  }

  #addStored(message, oldCards) {
    const about = message.metadata?.subagent;
    const agent = about && this.#agent(message.subagentRunId, about.parentToolCallId, about.name);
    if (about && !agent) return;
    this.#agentItems = agent?.items ?? null;
    this.#addMessage(message, oldCards);
    this.#agentItems = null;
    if (agent && about.status !== "running") this.#endAgent(agent, about.status, about.message);
  }

  #addMessage(message, oldCards) {
    const versions = this.#versions.of(message);
    if (versions) this.#footers.of(this.#openTurn()).versions = versions;
    if (message.role === "reasoning") {
      const reasoning = this.#reasoning(message.id);
      reasoning.reset(message.content);
    } else if (message.role === "assistant") {
      if (message.content) this.#answer(message.id).reset(message.content);
      const { partial, stopped, superseded, cutReason } = message.metadata ?? {};
      if (partial && !superseded) this.#addNotice(stopped ? STOPPED : whyCut(cutReason), message.id);
      for (const call of message.toolCalls ?? []) {
        const old = oldCards.get(call.id);
        if (old?.isFinished) this.#cards.set(call.id, old);
        const card = this.#card(call.id, call.function.name);
        card.of = message.id;
        card.setArguments(call.function.arguments);
        card.setTitle(message.metadata?.titles?.[call.id]);
      }
      if (superseded) this.#fold(message.id);
    } else if (message.role === "tool") {
      const card = this.#card(message.toolCallId);
      this.#finish(card, message.metadata?.tool ?? {});
      card.result(message.content);
    }
  }

  /** Show calls without a result as running: the last turn continues. */
  resumeLast() {
    for (const card of this.#cards.values()) {
      if (!card.isFinished) card.start();
    }
  }

  async #clicked(event) {
    const button = event.target.closest("[data-action]");
    const action = button?.dataset.action;
    if (action === "retry") {
      this.#actions.retry(button.closest(".failure").dataset.asks ? this.#lastMessage() : null);
    } else if (action === "copy-code") {
      await copyText(button.closest("[data-code]").querySelector("code").textContent);
      confirmCopy(button, gettext("Copied"));
    }
  }
}

const HANDLERS = Transcript.handlers();

const shortened = (text) => (text.length > ANNOUNCED_CHARACTERS ? `${text.slice(0, ANNOUNCED_CHARACTERS)}…` : text);

function ignore() {}


function confirmCopy(button, label) {
  const before = button.dataset.label ?? button.textContent;
  button.classList.add("done");
  button.dataset.label = before;
  button.textContent = label;
  announce(gettext("Copied"));
  setTimeout(() => {
    button.classList.remove("done");
    button.textContent = before;
  }, 1600);
}
