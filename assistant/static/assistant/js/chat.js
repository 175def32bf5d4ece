/* The open conversation: connects the websocket, the thread and the elements of the page's main part. */

import { Composer } from "./composer.js";
import { Connection } from "./connection.js";
import { announce, byId, frame, newId } from "./dom.js";
import { draft, keepDraft, keepTray, takeTray } from "./drafts.js";
import { gettext } from "./i18n.js";
import { keepPlace, keptPlace } from "./place.js";
import { Queue } from "./queue.js";
import { Follow } from "./scroll.js";
import { catchFiles, filesOf, isEmpty, textOf } from "./shared.js";
import { Thread, whyTooLong } from "./thread.js";
import { toast } from "./toast.js";
import { Transcript } from "./transcript.js";
import * as unsent from "./unsent.js";

const hasKeyboard = matchMedia("(pointer: fine)");
const SHOW_PROBLEM_AFTER = 700; // milliseconds, so that a short interruption shows nothing

/** Return what the members of a suspended organisation read; "" for others. */
async function suspension() {
  const answer = await fetch(location.href, { redirect: "manual" }).catch(() => null);
  if (answer?.status !== 404) return "";
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector("[data-suspended]")?.textContent.trim() ?? "";
}

async function showPassage(passage, _number, button) {
  (await import("./passage_panel.js")).showPassage(passage, button);
}

export class Chat {
  #page = byId("chat");
  #notice = byId("connection");
  #events = new AbortController();
  #problemTimer = 0;
  #sidebar;
  #draftKey;
  #connection;
  #follow;
  #transcript;
  #composer;
  #queue;
  #thread;
  #tray = null;
  #notices = {}; // what shows each, by name
  #isShown = false; // since its first snapshot
  #sendsQueued = false; // what has waited: whoever wrote it reads the answer before it
  #quote = null; // what quotes a selection
  #isDrafted = true; // not while its files are being put back

  /** Starts the conversation of the element #chat. `sidebar` is told of changes. */
  constructor(sidebar) {
    const { user, socket, thread: id, assistant, testVersion, testTools, question, models, uploads } = this.#page.dataset;
    const isNew = "new" in this.#page.dataset; // nothing was said in it, though the API may have made it already
    const { signal } = this.#events;
    const canAttach = Boolean(byId("attach"));
    this.#sidebar = sidebar;
    // The new conversations of an assistant have one, and the tests of a version. The tab may be another user's next.
    this.#draftKey = `${user}:${id || (testVersion ? `test:${testVersion}` : socket)}`;
    const forwarded = testVersion ? { promptVersion: Number(testVersion), testTools, takenQuestion: "taken" in this.#page.dataset } : {};
    this.#connection = new Connection(socket, signal);
    this.#follow = new Follow(byId("scroller"), byId("jump"), () => Boolean(byId("welcome")), () => this.#transcript?.lastQuestion);
    const offeredModels = JSON.parse(models ?? "[]");
    this.#transcript = new Transcript(byId("transcript"), assistant, {
      retry: (question) => this.#thread.retry(question),
      resume: (entries) => {
        this.#thread.resume(entries);
        if (hasKeyboard.matches) this.focus(); // the form that had it goes
      },
      stopWaiting: () => this.#thread.stopWaiting(),
      again: (question, model) => !this.#thread.isBusy && this.#thread.askAgain(question, model),
      edit: (id, text, files) => !this.#thread.isBusy && this.#send(text, id, files),
      uploads,
      goOn: () => !this.#thread.isBusy && this.#thread.goOn(),
      show: (id) => !this.#thread.isBusy && this.#thread.show(id),
      rate: (...rating) => this.#thread.rate(...rating),
      passage: showPassage,
      details: () => [...(this.#page.dataset.details ?? "").matchAll(/(\S+) (\S+)/g)].map(([, name, script]) => ({ name, script })),
      models: () => offeredModels,
      address: (url) => url,
      load: (address) => fetch(address),
      announce,
      suggest: (text) => this.#write(text),
      audience: () => this.#page.dataset.audience,
    }, "small" in this.#page.dataset);
    this.#queue = new Queue(() => this.#writeWaiting());
    byId("composer").before(this.#queue.element);
    this.#thread = new Thread({ id: id || newId(), isNew, connection: this.#connection, view: this.#view(), unsent, forwarded });
    this.#composer = new Composer(
      { send: (text) => this.#submit(text), stop: () => this.#stop(), problem: whyTooLong, files: canAttach ? (files) => this.#attach(files) : null, changed: () => this.#keepDraft(), up: () => this.#transcript.editLast() },
      signal,
    );
    this.#addParts(signal);
    byId("welcome")?.addEventListener("click", (event) => {
      const starter = event.target.closest("[data-starter]");
      if (starter && !this.#thread.isBusy) this.#send(starter.textContent);
    });
    this.#connection.addEventListener("change", ({ detail }) => this.#connectionChanged(detail));
    const dropped = (files) => (canAttach ? this.#attach(files) : this.#showProblem(gettext("Files cannot be sent to the assistant. Copy their text, please.")));
    catchFiles(window, dropped, { canTake: canAttach, shown: byId("composer") }, signal);
    for (const [, name, script] of (this.#page.dataset.notices ?? "").matchAll(/(\S+) (\S+)/g)) {
      this.#connection.addEventListener("open", () => this.#connection.send({ type: name }));
      this.#connection.addEventListener("frame", ({ detail }) => detail.name === name && !detail.metadata && this.#showNotice(name, script, detail.value));
    }
    addEventListener("pagehide", () => {
      this.#keepDraft();
      this.#keepPlace();
    }, { signal });
    addEventListener("hashchange", () => this.#showHit(), { signal });
    document.addEventListener("selectionchange", () => this.#lookAtSelection(), { signal });
    byId("reconnect").addEventListener("click", () => this.#connection.retryNow());
    const early = this.#composer.text;
    this.#restoreDraft(question);
    if (this.#thread.pendingMessage) this.#asked(this.#thread.pendingMessage);
    this.#connection.connect();
    if (early && this.#composer.text === early && this.#isDrafted) this.#composer.submitEarly(); // not a draft's text
  }

  /** Let optional apps add to the message box; what loads them is loaded if there are any. */
  async #addParts(signal) {
    const parts = JSON.parse(this.#page.dataset.composerParts ?? "[]");
    if (!parts.length) return;
    const { ComposerParts } = await import("./composer_parts.js");
    if (signal.aborted) return;
    const form = byId("composer");
    const place = (element) => form.prepend(element);
    const added = new ComposerParts(parts, { box: byId("message"), form, place, headers: () => ({ "X-CSRFToken": this.#token }), announce, thread: () => this.id }, signal);
    this.#thread.added = (text) => added.forwarded(text);
  }

  get #token() {
    return document.querySelector("[name=csrfmiddlewaretoken]").value;
  }

  get id() {
    return this.#thread.id;
  }

  /** Whether nothing was ever said in it. */
  get isNew() {
    return this.#thread.isNew;
  }

  set title(title) {
    byId("title").textContent = title;
    document.title = `${title} · ${this.#page.dataset.tenant} · ${this.#page.dataset.product}`;
  }

  focus() {
    this.#composer.focus();
  }

  /** Offer to quote what is selected. */
  async #lookAtSelection() {
    const { type, anchorNode } = document.getSelection();
    if (!this.#quote && (type !== "Range" || !byId("transcript").contains(anchorNode))) return;
    (await this.#quoteButton()).look();
  }

  async #quoteButton() {
    const { QuoteButton } = await import("./quote.js");
    this.#quote ??= new QuoteButton(this.#page, (text) => this.#cite(text), this.#events.signal);
    return this.#quote;
  }

  /** Put a quotation into the box, above the question about it. */
  #cite(quotation) {
    this.#composer.text = `${quotation}\n\n${this.#composer.text}`;
    this.#composer.focus();
  }

  /** Quote what is selected in an answer. */
  async quote() {
    (await this.#quoteButton()).act();
  }

  copyLast() {
    this.#transcript.copyLast();
  }

  /** Leave the conversation. Its answer goes on; what was written and not sent is kept. */
  close() {
    this.#keepDraft();
    this.#keepPlace();
    if (this.#tray && !this.#tray.isEmpty) {
      keepTray(this.#draftKey, this.#tray);
      this.#tray.restore(this.#queue.files);
    }
    clearTimeout(this.#problemTimer);
    this.#events.abort();
    this.#follow.close();
    this.#thread.close();
    this.#connection.close();
  }

  get #placeKey() {
    return `${this.#page.dataset.user}:${this.id}`;
  }

  #keepPlace() {
    if (this.#isShown) keepPlace(this.#placeKey, this.#follow.place);
  }

  /** Show the messages of a snapshot where the reader has been, or at the message that the address names. */
  #showSnapshot(messages) {
    const show = () => this.#transcript.snapshot(messages, this.#thread.pendingMessage);
    if (this.#isShown) {
      this.#follow.keep(show);
      return;
    }
    this.#isShown = true;
    show();
    if (!this.#showHit()) this.#follow.restore(keptPlace(this.#placeKey));
  }

  /** Show the message that the address names. Returns whether it is there. */
  #showHit() {
    const id = decodeURIComponent(location.hash.slice(1));
    const isThere = Boolean(id) && this.#follow.toMessage(id);
    if (isThere) this.#transcript.light(id);
    return isThere;
  }

  #keepDraft() {
    const waiting = this.#queue.text;
    if (!this.#composer || !this.#isDrafted) return;
    const files = [...this.#queue.files, ...(this.#tray?.parts ?? [])];
    keepDraft(this.#draftKey, [waiting, this.#composer.text].filter(Boolean).join("\n\n"), files);
  }

  /** Put what was written before into the box and its tray, without files that are not there any more. */
  async #restoreDraft(question) {
    const { text, files } = draft(this.#draftKey);
    const left = takeTray(this.#draftKey);
    this.#isDrafted = !files.length || Boolean(left);
    if (left) this.#showTray(left);
    const early = this.#composer.text; // what was written before this script was there
    this.#composer.text = question || (early === text ? text : [text, early].filter(Boolean).join("\n\n"));
    if (left || !files.length) return;
    const tray = byId("attach") && (await this.#openTray());
    await tray?.restoreStored(files);
    this.#isDrafted = true;
    this.#keepDraft();
  }

  /** Ask whether a message is to be sent though the assistant waits for a decision, and send it then. */
  #askToLeave(text) {
    const dialog = byId("leave-open");
    dialog.returnValue = "";
    const answered = () => {
      if (dialog.returnValue !== "send") this.#transcript.focusQuestion();
      else if (this.#submit(text, true)) this.#composer.text = "";
    };
    dialog.addEventListener("close", answered, { once: true });
    dialog.showModal();
  }

  #submit(text, leavesOpen = false) {
    if (this.#thread.awaitsDecision && !leavesOpen) {
      this.#askToLeave(text);
      return false;
    }
    const problem = whyTooLong([this.#queue.text, text].filter(Boolean).join("\n\n"));
    if (problem) {
      this.#showProblem(problem);
      return false;
    }
    const files = this.#tray?.take();
    if (this.#composer.isBusy) {
      this.#queue.add(text, files);
      return true;
    }
    const isSent = this.#send(text, "", files);
    if (!isSent && files?.length) this.#tray.restore(files);
    return isSent;
  }

  /** Upload files, to be sent with the next message. */
  async #attach(files) {
    (await this.#openTray()).add(files);
  }

  async #openTray() {
    const { Tray } = await import("./files.js");
    if (!this.#tray) this.#showTray(new Tray());
    return this.#tray;
  }

  #showTray(tray) {
    const { uploads, maxBytes, mostFiles, seesImages, readsPdfs } = this.#page.dataset;
    const headers = { "X-CSRFToken": this.#token };
    tray.options = {
      target: () => ({ url: uploads, headers }),
      maxBytes: Number(maxBytes),
      most: Number(mostFiles),
      seesImages: seesImages === "true",
      readsPdfs: readsPdfs === "true",
      changed: () => {
        this.#composer.refit();
        this.#keepDraft();
      },
      emptied: () => this.#composer.focus(),
      dropped: toast,
      announce,
    };
    this.#tray = tray;
    this.#composer.tray = tray;
  }

  /** Put a message back where it was written, to be sent again: a changed one into its form, any other into the box and its tray. */
  async #giveBack({ content, replaces = "" }) {
    if (replaces && this.#transcript.edit(replaces, textOf(content))) return;
    this.#write(textOf(content));
    const files = filesOf(content);
    if (files.length) (await this.#openTray()).restore(files);
  }

  /** Show what a notice of an app lists, such as the alarms that ring. The script is fetched with the first one. */
  async #showNotice(name, script, value) {
    if (!this.#notices[name] && isEmpty(value)) return;
    const { default: Notice } = await import(script);
    if (!this.#notices[name]) {
      const actions = {
        send: (frame) => this.#connection.send(frame),
        announce,
        focus: () => this.focus(),
        open: (id) => this.#sidebar.open(id),
        current: () => this.id,
        sidebar: byId("sidebar"),
      };
      this.#notices[name] = new Notice({ ...actions, asks: true }, this.#events.signal);
      this.#notice.before(this.#notices[name].element);
    }
    this.#notices[name].show(value);
  }

  #writeWaiting() {
    const files = this.#queue.takeFiles();
    this.#giveBack({ content: [{ type: "text", text: this.#queue.take() }, ...files] });
  }

  /** Send a text and files, in place of the message `replaced` if that is given. Returns whether it was accepted. */
  #send(text, replaced = "", files = []) {
    const problem = whyTooLong(text);
    if (!problem && this.#thread.sendText(text, replaced, files)) {
      this.#page.dispatchEvent(new Event("message-sent", { bubbles: true }));
      return true;
    }
    this.#showProblem(problem || gettext("This message is too long to send. Shorten it, please."));
    return false;
  }

  /** Put a text into the box, before what is in it. */
  #write(text) {
    this.#composer.text = [text, this.#composer.text].filter(Boolean).join("\n\n");
    this.#composer.focus();
  }

  #stop() {
    const message = this.#thread.stop();
    if (!message) return;
    this.#transcript.remove(message.id);
    this.#transcript.working(false);
    this.#giveBack(message);
  }

  #asked(message) {
    byId("welcome")?.remove();
    this.#transcript.clearFailures();
    if (message) this.#transcript.addUser(message, true);
    if (this.#connection.isOpen) this.#notice.hidden = true;
    this.#isShown = true;
    if (!message) this.#follow.goOn();
    else if (!this.#sendsQueued) this.#follow.toQuestion();
  }

  #change() {
    if (!this.#composer) return;
    const isSignedOut = this.#connection.state === "signed-out";
    this.#composer.isBusy = isSignedOut ? Boolean(this.#thread.pendingMessage) : this.#thread.isBusy;
    this.#transcript.working(this.#thread.isBusy && !isSignedOut);
    const message = this.#thread.pendingMessage;
    if (message) this.#transcript.note(message.id, isSignedOut ? gettext("Sent as soon as you have signed in") : this.#thread.waitsFor);
  }

  #started(isOurs) {
    const { base, assistant } = this.#page.dataset;
    this.#change();
    for (const note of document.querySelectorAll(".turn.user .note")) note.hidden = true;
    announce(isOurs ? gettext("%(name)s is answering", { name: assistant }) : gettext("Answering a message from another window"));
    if (location.pathname === base) {
      keepDraft(this.#draftKey, "");
      this.#draftKey = `${this.#page.dataset.user}:${this.id}`;
      history.replaceState(null, "", `${base}c/${this.id}/`);
      this.#keepDraft();
      this.#sidebar.current = this.id;
      byId("conversation-menu").hidden = false;
      const first = document.querySelector(".turn.user .bubble")?.textContent || gettext("Files");
      this.title = first.replace(/\s+/g, " ").trim().slice(0, 80);
    }
    this.#sidebar.changed();
  }

  #ended(event, isLive) {
    this.#transcript.ended(event, isLive);
    this.#change();
    if (isLive) this.#sidebar.changed();
    else this.#transcript.refocus();
    const outcome = event.outcome?.type;
    if (this.#queue.isEmpty) {
      if (isLive && outcome === "interrupt" && this.#composer.isIdle) this.#transcript.focusQuestion();
    } else if (event.type === "RUN_FINISHED" && outcome !== "interrupt" && outcome !== "cancelled") {
      const files = this.#queue.takeFiles();
      const text = this.#queue.take();
      this.#sendsQueued = true;
      if (!this.#send(text, "", files)) this.#giveBack({ content: [{ type: "text", text }, ...files] });
      this.#sendsQueued = false;
    } else if (outcome !== "interrupt") {
      this.#writeWaiting(); // stopped or failed: whoever wrote it decides again
    }
  }

  #refused({ message, code }, refused) {
    byId("skeleton")?.remove();
    this.#transcript.working(false);
    if (code === "thread_not_found" && !refused) this.#transcript.ended({ type: "RUN_ERROR", message: gettext("This conversation no longer exists."), code }, false);
    else this.#transcript.ended({ type: "RUN_ERROR", message, code }, true);
    if (refused) this.#transcript.note(refused.id, gettext("Not sent"), "refused");
    if (refused && code === "attachment_refused") {
      this.#transcript.remove(refused.id); // it can be changed and sent again
      this.#giveBack(refused);
    }
    this.#composer.isBusy = this.#thread.isBusy;
    if (!this.#thread.isBusy && !this.#queue.isEmpty) this.#writeWaiting();
  }

  #view() {
    const transcript = this.#transcript;
    return {
      asked: (message) => this.#asked(message),
      change: () => this.#change(),
      delayed: () => {
        announce(this.#thread.waitsFor);
        this.#change();
      },
      started: (isOurs) => this.#started(isOurs),
      event: (event) => transcript.event(event),
      block: (value) => transcript.block(value),
      details: (messages) => transcript.details(messages),
      rated: (value) => transcript.rated(value),
      followUps: (questions) => transcript.followUps(questions),
      tools: (off) => transcript.tools(off),
      failing: (isFailing) => transcript.failing(isFailing),
      title: (title) => {
        this.title = title;
        this.#sidebar.changed();
      },
      summary: (text) => {
        byId("summary-text").textContent = text;
        byId("summary").hidden = false;
      },
      snapshot: (messages) => {
        byId("skeleton")?.remove();
        byId("welcome")?.remove();
        this.#showSnapshot(messages);
        this.#change();
        transcript.resumeLast();
      },
      ended: (event, isLive) => this.#ended(event, isLive),
      decisionsRefused: (reason) => {
        transcript.askAgain(reason);
        this.#change();
      },
      refused: (failure, message) => this.#refused(failure, message),
    };
  }

  /** Show a problem with what helps against it: "reconnect", "sign-in", or nothing. */
  #showProblem(text, remedy = "") {
    byId("connection-text").textContent = text;
    for (const id of ["reconnect", "sign-in"]) byId(id).hidden = id !== remedy;
    if (this.#notice.hidden) announce(text);
    this.#notice.hidden = false;
  }

  #connectionChanged({ state, reason }) {
    clearTimeout(this.#problemTimer);
    frame.dataset.connection = state;
    this.#change();
    if (state === "open") {
      if (!this.#notice.hidden) announce(gettext("Connected again"));
      this.#notice.hidden = true;
    } else if (state === "signed-out") {
      byId("skeleton")?.remove();
      byId("sign-in").search = new URLSearchParams({ next: location.pathname + location.search });
      this.#showProblem(gettext("You are signed out, or your access has ended."), "sign-in");
      suspension().then((notice) => {
        if (!notice) return;
        this.#showProblem(notice);
        announce(notice);
      });
    } else if (reason) {
      this.#showProblem(reason, "reconnect");
    } else if (this.#notice.hidden) {
      this.#problemTimer = setTimeout(() => this.#showProblem(gettext("Connection lost. Reconnecting…"), "reconnect"), SHOW_PROBLEM_AFTER);
    }
  }
}
