/* One conversation in the panel: the thread that lets each event through once, and what it shows. */

import { newId } from "../js/moments.js";
import { Thread } from "../js/thread.js";
import { Transcript } from "./transcript.js";

export class Conversation extends EventTarget {
  #line;
  #panel;
  #thread;
  #transcript;
  #remember;

  /** Goes on with the thread `id`, or begins one; `remember(id)` is told which, and null if it is gone. */
  constructor({ line, panel, id, remember }) {
    super();
    this.#line = line;
    this.#panel = panel;
    this.#remember = remember;
    this.#transcript = new Transcript(panel.log, {
      retry: () => this.#thread.retry(),
      resume: (entries) => this.#thread.resume(entries),
      decided: () => panel.focus(), // its buttons are gone
      media: async (list) => (await import("./media.js")).shown(list, line),
    });
    // It keeps nothing unsent in the page's storage: the next visitor of this browser may be another.
    this.#thread = new Thread({ id: id || newId(), isNew: !id, connection: this, view: this.#view() });
  }

  get isOpen() {
    return this.#line.isOpen;
  }

  send(frame) {
    return this.#line.send(frame);
  }

  opened() {
    this.dispatchEvent(new Event("open"));
  }

  received(event) {
    this.dispatchEvent(new CustomEvent("frame", { detail: event }));
  }

  say(text) {
    if (this.#thread.isBusy) return false;
    if (this.#thread.say(text)) {
      if (this.isOpen) this.#panel.calm();
      return true;
    }
    this.#panel.trouble("This message is too long to send.");
    return false;
  }

  stop() {
    const unsent = this.#thread.stop();
    if (!unsent) return;
    this.#transcript.remove(unsent.id);
    this.#panel.text = unsent.content;
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
        if (message) transcript.addUser(message);
        panel.follow(true);
      },
      change: () => this.changed(),
      delayed: () => {
        panel.announce(this.#thread.waitsFor);
        this.changed();
      },
      started: (isOurs) => {
        this.#remember(this.#thread.id);
        this.changed();
        if (isOurs) panel.announce("The assistant is answering");
      },
      event: (event) => transcript.event(event),
      block: (value) => transcript.block(value),
      snapshot: (messages) => {
        const unsent = this.#thread.pendingMessage;
        transcript.snapshot(messages, messages.some(({ id }) => id === unsent?.id) ? null : unsent);
        this.changed();
        panel.follow(true);
      },
      ended: (event, isNews) => {
        const sentence = transcript.ended(event);
        this.changed();
        if (isNews) panel.announce(sentence);
      },
      refused: ({ message, code }, refused) => {
        if (code === "thread_not_found" && !refused) {
          this.#remember(null); // somebody else's, or deleted: begin anew
          return;
        }
        if (refused) transcript.note(refused.id, "Not sent");
        panel.announce(transcript.ended({ type: "RUN_ERROR", message, code }));
        this.changed();
      },
    };
  }
}
