/* One conversation on a connection: starts runs, attaches after a reconnect, and passes on every event exactly once. */

import { gettext } from "./i18n.js";
import { isPending, newId, textOf } from "./shared.js";

const VERSION = "1.0";
const FORWARDED = { render: "html" };
const DELAYED = gettext("The service is unavailable for a moment. This is sent as soon as it is back.");
const MAX_FRAME = 256 * 1024; // bytes
const MAX_TEXT = 200_000; // characters of a message
const FRAME_REST = 1024; // bytes of a frame besides the text
const SURELY_SHORT = 40_000; // characters that fit, whatever they are
// Milliseconds between attempts while the server cannot reach its database.
const FIRST_OUTAGE_DELAY = 1000;
const LONGEST_OUTAGE_DELAY = 15_000;
// The events that may follow a snapshot with the snapshot's own number.
const SNAPSHOT_EVENTS = new Set([
  "TEXT_MESSAGE_START", "REASONING_START", "REASONING_MESSAGE_START", "TOOL_CALL_START", "SUBAGENT_STARTED",
  "RUN_FINISHED", "RUN_ERROR",
]);

/** Return why a text cannot be sent, as a sentence; empty if it can. */
export function whyTooLong(text) {
  if (text.length <= SURELY_SHORT) return "";
  const length = text.length > MAX_TEXT ? [...text].length : text.length; // the server counts characters, not UTF-16 units
  const bytes = new TextEncoder().encode(JSON.stringify(text)).length;
  if (length <= MAX_TEXT && bytes <= MAX_FRAME - FRAME_REST) return "";
  // Letters of some scripts take several bytes.
  const most = Math.min(MAX_TEXT, Math.floor((length * (MAX_FRAME - FRAME_REST)) / bytes / 100) * 100);
  return gettext("This message has %(length)s characters. At most %(most)s can be sent: shorten it, please.", { length, most });
}

/** Calls the methods of `view`: asked, started, event, snapshot, block, details, rated, summary, title, tools, followUps, ended, refused, delayed,
 * change, and decisionsRefused if it has one. */
export class Thread {
  #connection;
  #view;
  #position = null;
  #snapshotSeq = 0;
  #pending = null;
  #pendingIsSent = false;
  #cancelled = "";
  #lastRefused = null;
  #open = [];
  #awaitsSnapshot = false;
  #unsent;
  #forwarded;
  #outages = 0;
  #retryTimer = 0;
  #known = new Set(); // ids of the user's messages that the server has

  /** Returns what a message, by its text, adds to the `forwardedProps` of its run. */
  added = () => ({});

  /** `unsent` stores input that has not reached the server. Without it, such input is lost when the page is left.
   * `forwarded` is added to the `forwardedProps` of every run. */
  constructor({ id, isNew, connection, view, unsent = null, forwarded = {} }) {
    this.#forwarded = { ...FORWARDED, ...forwarded };
    this.#unsent = unsent;
    this.id = id;
    this.isNew = isNew;
    this.running = "";
    this.#connection = connection;
    this.#view = view;
    this.#restore();
    connection.addEventListener("open", () => this.#catchUp());
    connection.addEventListener("frame", (event) => this.#receive(event.detail));
  }

  get isBusy() {
    return Boolean(this.running || this.#pending);
  }

  /** Whether the last run waits for a decision of the person. */
  get awaitsDecision() {
    return !this.isBusy && this.#open.some((interrupt) => !isPending(interrupt));
  }

  /** Why the pending input has not reached the server, as a sentence; empty if it was sent. */
  get waitsFor() {
    if (!this.#connection.isOpen) return gettext("Waiting for the connection");
    return this.#retryTimer ? DELAYED : "";
  }

  get pendingMessage() {
    return this.#pending?.messages[0] ?? null;
  }

  /** Start a run with the user's text and content parts of files, in place of the message `replaced` if that is given.
   * Returns false if it is too long for one frame. */
  sendText(text, replaced = "", files = []) {
    const replaces = replaced ? { replacesMessageId: replaced } : {};
    const forwardedProps = { ...this.#forwarded, ...this.added(text), ...replaces };
    const content = files.length ? [...(text ? [{ type: "text", text }] : []), ...files] : text;
    // A message in place of an answer leaves open questions unanswered, which AG-UI requires to be said.
    const left = replaced ? [] : this.#open.map(({ id }) => ({ interruptId: id, status: "cancelled" }));
    const resume = left.length ? { resume: left } : {};
    return this.#start({ messages: [{ id: newId(), role: "user", content }], forwardedProps, ...resume });
  }

  /** Ask for another answer to a message of the user; by another of the assistant's models if it is given. */
  askAgain({ id, content }, model = "") {
    const forwardedProps = { ...(model ? { ...FORWARDED, model } : this.#forwarded), ...this.added(textOf(content)) };
    return this.#start({ messages: [{ id, role: "user", content }], forwardedProps });
  }

  /** Go on with an answer that was cut off. */
  goOn() {
    this.#start({ messages: [] });
  }

  /** Show the path with this message. Returns false without a connection. */
  show(messageId) {
    return this.#connection.send({ type: "show", threadId: this.id, messageId });
  }

  /** Answer the last run's open interrupts with entries of AG-UI's `resume`. */
  resume(entries) {
    this.#start({ messages: [], resume: entries });
  }

  /** Rate an answer: 1, -1, or 0 to take the rating back. Returns false without a connection. */
  rate(messageId, rating, comment) {
    return this.#connection.send({ type: "feedback", threadId: this.id, messageId, rating, comment });
  }

  /** Send refused input again, or go on where the run failed; `question` is what to ask again if it said nothing. */
  retry(question) {
    const refused = this.#lastRefused;
    this.#lastRefused = null;
    if (refused) this.#start({ messages: refused.messages, resume: refused.resume, forwardedProps: refused.forwardedProps });
    else if (question) this.askAgain(question);
    else this.goOn();
  }

  /** Stop the run. Returns its message with the id of the message that it `replaces` if that was not sent yet, else null. */
  stop() {
    if (this.#pending && !this.#pendingIsSent) {
      const message = this.#newMessage(this.#pending);
      this.#setPending(null);
      this.#view.change();
      return message;
    }
    this.#cancelled = this.running || this.#pending?.runId || "";
    this.#sendCancel();
    return null;
  }

  /** Give up what the last run waits for. The server answers with a snapshot. */
  stopWaiting() {
    if (this.#position) this.#connection.send({ type: "cancel", runId: this.#position.runId });
  }

  #start(parts) {
    const input = {
      threadId: this.id,
      runId: newId(),
      protocolVersion: VERSION,
      state: {},
      tools: [],
      context: [],
      forwardedProps: this.#forwarded,
      ...parts,
    };
    if (!input.resume) delete input.resume;
    if (new TextEncoder().encode(JSON.stringify(input)).length > MAX_FRAME) return false;
    this.#setPending(input);
    this.#view.asked(input.messages[0] ?? null);
    this.#sendPending();
    this.#view.change();
    return true;
  }

  /** Return the message of an input, with the id of the message that it `replaces` if it is a changed one; null if the server has it already. */
  #newMessage(input) {
    const message = input?.messages[0];
    if (!message || this.#known.has(message.id)) return null;
    return { ...message, replaces: input.forwardedProps.replacesMessageId ?? "" };
  }

  /** Do nothing more. */
  close() {
    clearTimeout(this.#retryTimer);
  }

  #sendPending() {
    if (this.#pending && this.#connection.send(this.#pending)) this.#pendingIsSent = true;
  }

  #sendCancel() {
    if (this.#cancelled) this.#connection.send({ type: "cancel", runId: this.#cancelled });
  }

  #catchUp() {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = 0;
    if (this.#position) this.#attach({ ...this.#position });
    else if (!this.isNew) this.#attach();
    this.#sendPending(); // with the same run id as before, so that the server starts it only once
    this.#sendCancel();
  }

  #attach(after) {
    const frame = { type: "attach", threadId: this.id, render: "html", protocolVersion: VERSION };
    this.#awaitsSnapshot = !after;
    this.#connection.send(after ? { ...frame, after } : frame);
  }

  #resync() {
    this.#position = null;
    this.#attach();
  }

  #receive(event) {
    const run = event.metadata?.run;
    if (!run) {
      if (event.name === "feedback" && event.value.threadId === this.id) this.#view.rated(event.value);
      else if (event.name === "protocol_error") this.#refuse(gettext("This could not be sent: %(reason)s", event.value), "protocol_error");
      return;
    }
    if (run.thread && run.thread !== this.id) return;
    if (event.type === "CUSTOM" && event.name === "message.block") this.#view.block(event.value);
    else if (event.type === "CUSTOM" && event.name === "message.details") this.#view.details(event.value.messages);
    else if (event.type === "CUSTOM" && event.name === "thread.summary") this.#view.summary(event.value.summary);
    else if (event.type === "CUSTOM" && event.name === "thread.title") this.#view.title(event.value.title);
    else if (event.type === "CUSTOM" && event.name === "thread.tools") this.#view.tools(event.value.off);
    else if (event.type === "CUSTOM" && event.name === "thread.provider") this.#view.failing(event.value.isFailing);
    else if (event.type === "CUSTOM" && event.name === "thread.follow_ups") this.isBusy || this.#view.followUps(event.value.questions);
    else if (event.type === "RUN_ERROR" && run.seq === 1 && run.id !== this.#position?.runId) this.#refusal(event, run);
    else if (event.type === "MESSAGES_SNAPSHOT") this.#snapshot(event, run);
    else if (event.type === "RUN_STARTED") this.#started(run);
    else if (this.#isNext(event, run)) this.#apply(event, run);
  }

  #started(run) {
    this.#outages = 0;
    const last = this.#position;
    const isOurs = this.#pending?.runId === run.id;
    const isBranch = isOurs && this.#begins(this.#pending);
    if (last?.runId === run.id && run.seq <= last.seq) return;
    if (run.seq > 1 || (this.#awaitsSnapshot && !isOurs)) return; // a snapshot follows
    this.#position = { runId: run.id, seq: run.seq };
    this.#snapshotSeq = 0;
    this.isNew = false;
    this.running = run.id;
    this.#open = [];
    if (isOurs) this.#setPending(null);
    if (!isOurs || isBranch) this.#resync(); // only a snapshot has another tab's message, or what a branch leaves out
    this.#sendCancel();
    this.#view.started(isOurs);
  }

  /** Return whether an input begins a branch of the conversation. */
  #begins({ messages: [message], forwardedProps }) {
    const isKnown = this.#known.has(message?.id);
    if (message) this.#known.add(message.id);
    return isKnown || Boolean(forwardedProps.replacesMessageId);
  }

  #snapshot(event, run) {
    this.#outages = 0;
    this.#position = { runId: run.id, seq: run.seq };
    this.#snapshotSeq = run.seq;
    this.#awaitsSnapshot = false;
    this.isNew = false;
    this.running = run.id;
    this.#open = [];
    this.#known = new Set(event.messages.filter(({ role }) => role === "user").map(({ id }) => id));
    if (this.#pending?.runId === run.id) this.#setPending(null);
    this.#view.snapshot(event.messages);
  }

  #isNext(event, run) {
    const last = this.#position;
    if (last?.runId !== run.id || run.seq > last.seq + 1) {
      if (this.#connection.isOpen && last) this.#resync();
      return false;
    }
    if (run.seq === last.seq + 1) return true;
    return run.seq === last.seq && run.seq === this.#snapshotSeq && SNAPSHOT_EVENTS.has(event.type);
  }

  #apply(event, run) {
    if (run.seq !== this.#snapshotSeq) this.#snapshotSeq = 0;
    this.#position.seq = run.seq;
    if (event.type !== "RUN_FINISHED" && event.type !== "RUN_ERROR") {
      this.#view.event(event);
      return;
    }
    const isLive = this.#snapshotSeq === 0;
    this.running = "";
    this.#cancelled = "";
    this.#lastRefused = null;
    this.#open = event.outcome?.interrupts ?? [];
    this.#view.ended(event, isLive);
  }

  #refusal(event, run) {
    if (run.id && run.id !== this.#pending?.runId) return;
    if (event.code === "internal_error" && event.metadata.resetsAt) {
      this.#retryAfterOutage();
    } else if (!run.id) {
      this.#awaitsSnapshot = false;
      this.#view.refused(event, null); // an attach was refused: there is no such conversation
    } else {
      this.#refuse(event.message, event.code);
    }
  }

  #retryAfterOutage() {
    this.#pendingIsSent = false;
    clearTimeout(this.#retryTimer);
    const wait = Math.min(LONGEST_OUTAGE_DELAY, FIRST_OUTAGE_DELAY * 2 ** this.#outages++);
    this.#retryTimer = setTimeout(() => this.#catchUp(), wait / 2 + (Math.random() * wait) / 2);
    if (this.#pending) this.#view.delayed();
  }

  #refuse(message, code) {
    const refused = this.#pending;
    // The user has to decide again: sending the same decisions again would fail again.
    const isDecision = refused?.resume && !refused.messages.length;
    const areDecisionsRefused = Boolean(isDecision && this.#view.decisionsRefused) && code === "invalid_input";
    this.#lastRefused = areDecisionsRefused ? null : refused;
    this.#setPending(null);
    if (areDecisionsRefused) {
      this.#view.decisionsRefused(message);
      return;
    }
    this.#view.refused({ message, code }, this.#newMessage(refused));
  }

  #setPending(input) {
    this.#pending = input;
    this.#pendingIsSent = false;
    this.#unsent?.keep(input);
  }

  #restore() {
    const input = this.#unsent?.restore();
    if (!input) return;
    if (this.isNew) this.id = input.threadId;
    if (input.threadId === this.id) this.#pending = input;
  }
}
