/* Shows the turns of the user and the assistant, from events and snapshots. */

import { addQuestionTools, isToBeAskedAgain } from "./branches.js";
import { AnswerText } from "./answer_text.js";
import { announce, copyText, enter, piece } from "./dom.js";
import { make } from "./elements.js";
import { EventView } from "./event_view.js";
import { Groups } from "./groups.js";
import { gettext } from "./i18n.js";
import { describedFile, filesOf, textOf, touch } from "./shared.js";
import { Reasoning } from "./reasoning.js";
import { Wait } from "./wait.js";

/** Return the server's HTML as nodes. */
function nodesOf(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

function decorate(head) {
  head.append(piece("copy"));
  import("./code_lines.js").then(({ addWrap }) => addWrap(head));
}

/** Return an element that files are shown in; what draws them is fetched with the first. */
function shownFiles(kind, files) {
  const place = make(kind);
  import("./media.js").then(({ mediaShown }) => place.append(...files.map((file) => mediaShown(file))));
  return place;
}

export class Answer extends AnswerText {
  constructor(id) {
    const element = piece("answer");
    const [closed, open] = element.children;
    super({ closed, open, nodesOf, decorate });
    this.id = id;
    this.element = element;
    element.dataset.id = id;
  }

  set isStreaming(value) {
    this.element.classList.toggle("streaming", value);
  }
}

const RETRYABLE = new Set([
  "provider_error", "provider_quota", "provider_rate_limited", "provider_timeout", "internal_error", "interrupted",
  "thread_busy", "limit_reached", "quota_exceeded", "protocol_error",
]);

export class Transcript extends EventView {
  noticeClass = "stopped";
  #name;
  #agents = new Map();
  #agentItems = null;
  #turn = null;
  #wait;
  #groups;
  #thinking = piece("thinking");

  /** `actions`: those of `EventView`, and passage(passage, number), and uploads, an address. `isSmall`: whether the model is a small one. */
  constructor(root, assistantName, actions, isSmall = false) {
    super(root, actions, { Answer, Reasoning, nodesOf });
    this.#name = assistantName;
    this.#wait = new Wait(isSmall);
    this.#groups = new Groups(root, (turn) => this.#equip(turn));
    root.addEventListener("click", (event) => this.#clicked(event));
  }

  /** Add a message of the user, unless it is shown already. `isNew`: it was sent just now. */
  addUser(message, isNew = false) {
    if (this.user(message.id)) return;
    this.#settleTurn();
    this.#turn = null;
    const article = piece("user");
    article.dataset.id = message.id;
    article.message = message;
    const text = textOf(message.content);
    const bubble = article.querySelector(".bubble");
    const quotation = /^(?:>.*(?:\n|$))+/.exec(text)?.[0] ?? "";
    if (quotation) bubble.append(make("blockquote", {}, quotation.replace(/^> ?/gm, "").trim()));
    bubble.append(quotation ? text.slice(quotation.length).trimStart() : text);
    bubble.hidden = !text;
    const files = filesOf(message.content);
    if (files.length) bubble.before(shownFiles("div.attached", files.map((file) => describedFile(file, this.actions.uploads))));
    this.#groups.append(article);
    if (isNew) enter(article);
  }

  #addTools(article, message) {
    addQuestionTools(article, this.versions.of(message), (text) => this.actions.edit(message.id, text, filesOf(message.content)));
  }

  /** Change the last question. Returns whether there is one. */
  editLast() {
    const button = [...this.root.querySelectorAll(".turn.user:not([data-kind='refused']) .edit")].at(-1);
    button?.click();
    return Boolean(button);
  }

  /** Copy the last answer, if there is one. */
  async copyLast() {
    const turn = [...this.root.querySelectorAll(".turn.assistant")].at(-1);
    const text = turn ? this.idsOf(turn).map((id) => this.answers.get(id).text).join("\n\n") : "";
    if (!text) return;
    await copyText(text);
    announce(gettext("Copied"));
  }

  /** Add the buttons of a turn. */
  #equip(turn) {
    if (turn.classList.contains("user")) this.#addTools(turn, turn.message);
    else if (this.answersOf(turn).length) this.footers.restore(turn, this.idsOf(turn));
  }

  /** Set the note below a message, such as why it was not sent. Empty: the message was sent. */
  note(messageId, note, kind = "") {
    const article = this.user(messageId);
    if (!article) return;
    const line = article.querySelector(".note");
    line.textContent = note;
    line.hidden = !note;
    article.dataset.kind = kind;
  }

  // The assistant's turn

  get turn() {
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

  get items() {
    return this.#agentItems ?? this.turn.querySelector(":scope > .items");
  }

  working(isWorking) {
    this.root.setAttribute("aria-busy", String(isWorking));
    if (isWorking) this.footers.mark(null);
    if (!isWorking) {
      const last = this.#settleTurn();
      if (this.answersOf(last).length) this.footers.mark(last);
      return;
    }
    const turn = this.turn;
    turn.classList.add("working");
    if (this.#thinking.parentElement !== turn) {
      turn.querySelector(":scope > .items").after(this.#thinking);
      enter(this.#thinking);
    }
    this.#wait.begin(this.#thinking.querySelector(".awaited"));
  }

  /** The assistant's turn is over. Returns its element, if the last turn is one. */
  #settleTurn() {
    this.#wait.end();
    this.#thinking.remove();
    const turn = this.#turn ?? this.#groups.lastTurn;
    if (!turn?.classList.contains("assistant")) return null;
    turn.classList.remove("working");
    for (const answer of this.answers.values()) answer.isStreaming = false;
    this.#turn = null;
    return turn;
  }

  /** Let a message stand out for a moment: it was looked for. */
  light(messageId) {
    const found = this.user(messageId) ?? this.answers.get(messageId)?.element.closest(".turn");
    if (!found) return;
    found.classList.add("hit");
    found.addEventListener("animationend", () => found.classList.remove("hit"), { once: true });
  }

  async citePassages(turn, passages) {
    const { citeSources } = await import("./sources.js");
    const list = citeSources(passages, this.answersOf(turn), (...shown) => this.actions.passage(...shown));
    turn.querySelector(":scope > .sources")?.remove();
    turn.querySelector(":scope > .items").after(list);
  }

  /** Show a delegate's event in the card of the call that runs it. */
  delegate(event) {
    const id = event.subagentRunId;
    if (event.type === "SUBAGENT_STARTED") {
      const { parentToolCallId, name } = event;
      if (this.#agent(id, parentToolCallId, name)) this.cards.get(parentToolCallId).progress({ message: gettext("%(name)s is working on it", { name }) });
      return;
    }
    const agent = this.#agents.get(id);
    if (!agent) return;
    if (event.type === "SUBAGENT_FINISHED" || event.type === "SUBAGENT_ERROR") {
      this.#endAgent(agent, event.type === "SUBAGENT_FINISHED" ? "ok" : "error", event.message);
      return;
    }
    this.#agentItems = agent.items;
    this.apply(event);
    this.#agentItems = null;
  }

  /** Return the delegate `id` in the card of its call, added if needed; undefined if there is no such card. */
  #agent(id, callId, name) {
    const card = this.cards.get(callId);
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
    for (const card of this.cards.values()) {
      if (element.contains(card.element) && !card.isFinished) card.finish({ status: "cancelled" });
    }
  }

  showFiles(card, files) {
    const known = this.files.get(card.id) ?? { element: shownFiles("div.tool-files", files) };
    this.files.set(card.id, known);
    known.element.remove();
    let last = card.element.closest(".turn > .items > *");
    while (last?.nextElementSibling?.matches(".tool-files")) last = last.nextElementSibling;
    last?.after(known.element);
  }

  /** Show how the run ended. `isLive`: the end was received as it happened, not with a snapshot. */
  ended(event, isLive) {
    const sentence = this.end(event, isLive);
    this.working(false);
    if (event.outcome?.type === "interrupt") this.footers.mark(null);
    if (isLive) announce(sentence);
  }

  fail(event, isLive) {
    const items = this.turn.querySelector(":scope > .items");
    const box = piece("error");
    box.querySelector(".failure-text").textContent = this.reasonOf(event);
    box.querySelector("button").hidden = Boolean(event.code) && !RETRYABLE.has(event.code);
    box.dataset.asks = isToBeAskedAgain(items, isLive) ? "again" : "";
    items.append(box);
  }

  // Snapshots

  /** Show these AG-UI messages, reusing elements that are on the page already. `pending` is a message not yet sent. */
  snapshot(messages, pending) {
    const cards = this.cards;
    const users = new Map([...this.root.querySelectorAll(".turn.user")].map((article) => [article.dataset.id, article]));
    this.#turn = null;
    this.cards = new Map();
    this.#groups.empty();
    for (const { element } of [...this.answers.values(), ...this.reasonings.values()]) if (!element.closest(".agent")) element.remove();
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
    this.repeatNotices();
    for (const turn of this.root.querySelectorAll(".turn.assistant")) touch({ flush: () => this.cite(turn) }); // after their answers
    this.#groups.settle();
  }

  #addStored(message, oldCards) {
    const about = message.metadata?.subagent;
    const agent = about && this.#agent(message.subagentRunId, about.parentToolCallId, about.name);
    if (about && !agent) return;
    this.#agentItems = agent?.items ?? null;
    this.stored(message, oldCards);
    this.#agentItems = null;
    if (agent && about.status !== "running") this.#endAgent(agent, about.status, about.message);
  }

  async #clicked(event) {
    const button = event.target.closest("[data-action]");
    const action = button?.dataset.action;
    if (action === "retry") {
      this.actions.retry(button.closest(".failure").dataset.asks ? this.lastMessage : null);
    } else if (action === "copy-code") {
      await copyText(button.closest("[data-code]").querySelector("code").textContent);
      confirmCopy(button, gettext("Copied"));
    }
  }
}

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
