/* Connects one thread to the widget's panel. */

import { gettext } from "../js/i18n.js";
import { filesOf, newId, textOf } from "../js/shared.js";
import { Queue } from "../js/queue.js";
import { Thread, whyTooLong } from "../js/thread.js";
import { Transcript } from "./transcript.js";

export class Conversation extends EventTarget {
  #connection;
  #panel;
  #thread;
  #transcript;
  #remember;
  #ended;
  #shown;
  #queue;
  #sendsQueued = false;

  /** Continues the thread `id`, or starts one. `remember(id)` is called with the thread's id, or null if it does not exist; `ended(isLive)`
   * when a run has, and `shown()` when what was said is there. */
  constructor({ connection, panel, id, remember, ended, shown }) {
    super();
    this.#connection = connection;
    this.#panel = panel;
    this.#remember = remember;
    this.#ended = ended;
    this.#shown = shown;
    this.#queue = new Queue(() => this.#writeWaiting());
    panel.waiting = this.#queue.element;
    this.#transcript = new Transcript(panel.log, {
      retry: (question) => this.#thread.retry(question),
      resume: (entries) => this.#thread.resume(entries),
      stopWaiting: () => this.#thread.stopWaiting(),
      decided: () => panel.focus(), // the focused button was removed
      again: (question, model) => !this.#thread.isBusy && this.#thread.askAgain(question, model),
      models: () => connection.models,
      audience: () => connection.audience,
      details: () => connection.details,
      address: (url) => new URL(url, connection.server).href,
      load: (address) => fetch(new URL(address, connection.server), { headers: { Authorization: `Bearer ${connection.token}` } }),
      suggest: (text) => this.#write(text),
      edit: (id, text, files) => !this.#thread.isBusy && this.#send(text, id, files),
      uploads: () => connection.files?.url ?? "",
      goOn: () => !this.#thread.isBusy && this.#thread.goOn(),
      show: (id) => !this.#thread.isBusy && this.#thread.show(id),
      rate: (...rating) => this.#thread.rate(...rating),
      announce: (text) => panel.announce(text),
      media: async (list) => (await import("./media.js")).shown(list, connection),
    });
    // Without `unsent`: the browser's next visitor may be another person.
    this.#thread = new Thread({ id: id || newId(), isNew: !id, connection: this, view: this.#view() });
    this.#thread.added = (text) => connection.added(text);
  }

  get id() {
    return this.#thread.id;
  }

  get isOpen() {
    return this.#connection.isOpen;
  }

  send(frame) {
    return this.#connection.send(frame);
  }

  opened() {
    this.dispatchEvent(new Event("open"));
  }

  received(event) {
    this.dispatchEvent(new CustomEvent("frame", { detail: event }));
  }

  /** Send a text and files, or let them wait for the end of the answer. Returns whether they were accepted. */
  sendText(text, files = []) {
    if (!this.#thread.isBusy) return this.#send(text, "", files);
    const problem = whyTooLong([this.#queue.text, text].filter(Boolean).join("\n\n"));
    if (problem) this.#panel.showProblem(problem);
    else this.#queue.add(text, files);
    return !problem;
  }

  /** Send a text, in place of the message `replaced` if that is given. Returns whether it was accepted. */
  #send(text, replaced = "", files = []) {
    const problem = whyTooLong(text);
    if (!problem && this.#thread.sendText(text, replaced, files)) {
      if (this.isOpen) this.#panel.hideProblem();
      return true;
    }
    this.#panel.showProblem(problem || gettext("This message is too long to send. Shorten it, please."));
    return false;
  }

  stop() {
    const unsent = this.#thread.stop();
    if (!unsent) return;
    this.#transcript.remove(unsent.id);
    this.#giveBack(unsent);
  }

  /** Put a message back where it was written, to be sent again: a changed one into its form, any other into the box and its tray. */
  #giveBack({ content, replaces = "" }) {
    if (replaces && this.#transcript.edit(replaces, textOf(content))) return;
    this.#write(textOf(content));
    this.#panel.restore(filesOf(content));
  }

  #writeWaiting() {
    const files = this.#queue.takeFiles();
    this.#giveBack({ content: [{ type: "text", text: this.#queue.take() }, ...files] });
  }

  /** Put a text into the box, before what is in it. */
  #write(text) {
    this.#panel.text = [text, this.#panel.text].filter(Boolean).join("\n\n");
    this.#panel.focus();
  }

  /** Send what has waited for the end of a run, or give it back if the run did not end well. */
  #sendWaiting(event) {
    const outcome = event.outcome?.type;
    if (this.#queue.isEmpty || outcome === "interrupt") return;
    if (event.type === "RUN_FINISHED" && outcome !== "cancelled") this.#sendQueued();
    else this.#writeWaiting();
  }

  #sendQueued() {
    const files = this.#queue.takeFiles();
    const text = this.#queue.take();
    this.#sendsQueued = true; // whoever wrote it reads the answer before it
    if (!this.#send(text, "", files)) this.#giveBack({ content: [{ type: "text", text }, ...files] });
    this.#sendsQueued = false;
  }

  changed() {
    const unsent = this.#thread.pendingMessage;
    if (unsent) this.#transcript.note(unsent.id, this.#thread.waitsFor);
    this.#panel.working(this.#thread.isBusy, this.isOpen);
  }

  #view() {
    const panel = this.#panel;
    const transcript = this.#transcript;
    return {
      asked: (message) => {
        transcript.clearFailures();
        transcript.began();
        if (message) transcript.addUser(message);
        if (!this.#sendsQueued) panel.began(Boolean(message));
      },
      change: () => this.changed(),
      delayed: () => {
        panel.announce(this.#thread.waitsFor);
        this.changed();
      },
      started: (isOurs) => {
        this.#remember(this.#thread.id);
        this.changed();
        if (isOurs) panel.announce(gettext("The assistant is answering"));
      },
      event: (event) => transcript.event(event),
      block: (value) => transcript.block(value),
      details: (messages) => transcript.details(messages),
      rated: (value) => transcript.rated(value),
      summary: () => {}, // members see it, and titles
      title: () => {},
      tools: (off) => transcript.tools(off),
      failing: (isFailing) => transcript.failing(isFailing),
      followUps: (questions) => transcript.followUps(questions),
      decisionsRefused: (reason) => {
        transcript.askAgain(reason);
        this.changed();
      },
      snapshot: (messages) => {
        const unsent = this.#thread.pendingMessage;
        panel.keepPlace(() => transcript.snapshot(messages, messages.some(({ id }) => id === unsent?.id) ? null : unsent));
        this.changed();
        this.#shown();
      },
      ended: (event, isLive) => {
        const sentence = transcript.ended(event, isLive);
        this.changed();
        if (isLive) {
          panel.announce(sentence);
          if (panel.isIdle) transcript.focusQuestion();
        } else transcript.refocus();
        this.#ended(isLive);
        this.#sendWaiting(event);
      },
      refused: ({ message, code }, refused) => {
        if (code === "thread_not_found" && !refused) {
          this.#remember(null); // another user's, or deleted: start a new one
          return;
        }
        if (refused) transcript.note(refused.id, gettext("Not sent"));
        if (refused && code === "attachment_refused") {
          transcript.remove(refused.id);
          this.#giveBack(refused);
        }
        panel.announce(transcript.ended({ type: "RUN_ERROR", message, code }, true));
        this.changed();
        if (!this.#thread.isBusy && !this.#queue.isEmpty) this.#writeWaiting();
      },
    };
  }
}
