/* One conversation's place in the event stream: sends, attaches, and lets every event through exactly once. */

import { newId } from "./moments.js";

const VERSION = "1.0";
const DELAYED = "The service is away for a moment. This is sent as soon as it is back.";
const MAX_FRAME = 256 * 1024;
// While the server cannot reach its database: milliseconds between tries.
const FIRST_OUTAGE_DELAY = 1000;
const LONGEST_OUTAGE_DELAY = 15_000;
// What a fresh picture repeats after its snapshot, with the snapshot's number.
const PICTURE_KINDS = new Set([
  "TEXT_MESSAGE_START", "REASONING_START", "REASONING_MESSAGE_START", "TOOL_CALL_START", "SUBAGENT_STARTED",
  "RUN_FINISHED", "RUN_ERROR",
]);

/** `view` is told: asked, started, event, snapshot, block, summary, ended, refused, delayed, change. */
export class Thread {
  #connection;
  #view;
  #position = null;
  #pictureSeq = 0;
  #pending = null;
  #pendingIsSent = false;
  #cancelled = "";
  #lastRefused = null;
  #awaitsPicture = false;
  #unsent;
  #outages = 0;
  #comingBack = 0;

  /** `unsent` keeps what has not reached the server; without it that lives as long as the page. */
  constructor({ id, isNew, connection, view, unsent = null }) {
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

  /** Why what is pending has not reached the server, as a sentence; empty if it is on its way. */
  get waitsFor() {
    if (!this.#connection.isOpen) return "Waiting for the connection";
    return this.#comingBack ? DELAYED : "";
  }

  get pendingMessage() {
    return this.#pending?.messages[0] ?? null;
  }

  /** Start a run with the user's text. False if it is too long for one frame. */
  say(text) {
    return this.#start({ messages: [{ id: newId(), role: "user", content: text }] });
  }

  /** Answer what the last run waits for: entries of AG-UI's `resume`. */
  resume(entries) {
    this.#start({ messages: [], resume: entries });
  }

  /** Ask again for the answer that failed, or send again what was refused. */
  retry() {
    const refused = this.#lastRefused;
    this.#lastRefused = null;
    this.#start(refused ? { messages: refused.messages, resume: refused.resume } : { messages: [] });
  }

  /** Stop the run. Returns the message if it had not been sent yet. */
  stop() {
    if (this.#pending && !this.#pendingIsSent) {
      const [message] = this.#pending.messages;
      this.#setPending(null);
      this.#view.change();
      return message ?? null;
    }
    this.#cancelled = this.running || this.#pending?.runId || "";
    this.#sendCancel();
    return null;
  }

  #start(parts) {
    const input = {
      threadId: this.id,
      runId: newId(),
      protocolVersion: VERSION,
      state: {},
      tools: [],
      context: [],
      forwardedProps: { render: "html" },
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

  #sendPending() {
    if (this.#pending && this.#connection.send(this.#pending)) this.#pendingIsSent = true;
  }

  #sendCancel() {
    if (this.#cancelled) this.#connection.send({ type: "cancel", runId: this.#cancelled });
  }

  #catchUp() {
    clearTimeout(this.#comingBack);
    this.#comingBack = 0;
    if (this.#position) this.#attach({ ...this.#position });
    else if (!this.isNew) this.#attach();
    this.#sendPending(); // with the same run id as before: the server starts it once
    this.#sendCancel();
  }

  #attach(after) {
    const frame = { type: "attach", threadId: this.id, render: "html", protocolVersion: VERSION };
    this.#awaitsPicture = !after;
    this.#connection.send(after ? { ...frame, after } : frame);
  }

  #resync() {
    this.#position = null;
    this.#attach();
  }

  #receive(event) {
    const run = event.metadata?.run;
    if (!run) {
      if (event.name === "protocol_error") this.#refuse(`This could not be sent: ${event.value.reason}`, "protocol_error");
      return;
    }
    if (run.thread && run.thread !== this.id) return;
    if (event.type === "CUSTOM" && event.name === "message.block") this.#view.block(event.value);
    else if (event.type === "CUSTOM" && event.name === "thread.summary") this.#view.summary(event.value.summary);
    else if (event.type === "RUN_ERROR" && run.seq === 1 && run.id !== this.#position?.runId) this.#refusal(event, run);
    else if (event.type === "MESSAGES_SNAPSHOT") this.#snapshot(event, run);
    else if (event.type === "RUN_STARTED") this.#started(run);
    else if (this.#isNews(event, run)) this.#apply(event, run);
  }

  #started(run) {
    this.#outages = 0;
    const last = this.#position;
    const isOurs = this.#pending?.runId === run.id;
    if (last?.runId === run.id && run.seq <= last.seq) return;
    if (run.seq > 1 || (this.#awaitsPicture && !isOurs)) return; // the head of a picture: its snapshot follows
    this.#position = { runId: run.id, seq: run.seq };
    this.#pictureSeq = 0;
    this.isNew = false;
    this.running = run.id;
    if (isOurs) this.#setPending(null);
    else this.#resync(); // another tab asked: its message is only in the picture
    this.#sendCancel();
    this.#view.started(isOurs);
  }

  #snapshot(event, run) {
    this.#outages = 0;
    this.#position = { runId: run.id, seq: run.seq };
    this.#pictureSeq = run.seq;
    this.#awaitsPicture = false;
    this.isNew = false;
    this.running = run.id;
    if (this.#pending?.runId === run.id) this.#setPending(null);
    this.#view.snapshot(event.messages);
  }

  #isNews(event, run) {
    const last = this.#position;
    if (last?.runId !== run.id || run.seq > last.seq + 1) {
      if (this.#connection.isOpen && last) this.#resync();
      return false;
    }
    if (run.seq === last.seq + 1) return true;
    return run.seq === last.seq && run.seq === this.#pictureSeq && PICTURE_KINDS.has(event.type);
  }

  #apply(event, run) {
    if (run.seq !== this.#pictureSeq) this.#pictureSeq = 0;
    this.#position.seq = run.seq;
    if (event.type !== "RUN_FINISHED" && event.type !== "RUN_ERROR") {
      this.#view.event(event);
      return;
    }
    const wasWatched = this.#pictureSeq === 0;
    this.running = "";
    this.#cancelled = "";
    this.#lastRefused = null;
    this.#view.ended(event, wasWatched);
  }

  #refusal(event, run) {
    if (run.id && run.id !== this.#pending?.runId) return;
    if (event.code === "internal_error" && event.metadata.resetsAt) {
      this.#comeBackLater();
    } else if (!run.id) {
      this.#awaitsPicture = false;
      this.#view.refused(event, null); // an attach: the conversation is gone
    } else {
      this.#refuse(event.message, event.code);
    }
  }

  #comeBackLater() {
    this.#pendingIsSent = false;
    clearTimeout(this.#comingBack);
    const wait = Math.min(LONGEST_OUTAGE_DELAY, FIRST_OUTAGE_DELAY * 2 ** this.#outages++);
    this.#comingBack = setTimeout(() => this.#catchUp(), wait / 2 + (Math.random() * wait) / 2);
    if (this.#pending) this.#view.delayed();
  }

  #refuse(message, code) {
    const refused = this.#pending;
    // To be answered otherwise, not to be sent again.
    const isUndecided = Boolean(refused?.resume && this.#view.undecided) && code === "invalid_input";
    this.#lastRefused = isUndecided ? null : refused;
    this.#setPending(null);
    if (isUndecided) {
      this.#view.undecided(message);
      return;
    }
    this.#view.refused({ message, code }, refused?.messages[0] ?? null);
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
