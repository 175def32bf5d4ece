/* The widget's panel: its elements, the message box, and announcements to screen readers. */

import { leaveForm } from "../js/branches.js";
import { dayOrTime, gettext } from "../js/i18n.js";
import { Follow } from "../js/scroll.js";
import { catchFiles, isSendKey, showStop } from "../js/shared.js";
import { whyTooLong } from "../js/thread.js";
import { drawn, icon, iconButton, make } from "./elements.js";

const TALKS = "M4.5 6.500h15M4.500 12h15M4.500 17.500h9";
const WIDEN = "M14 4.500h5.500V10M19.500 4.500L13 11M10 19.500H4.500V14M4.500 19.500L11 13";
const STILL_FOR = 100; // milliseconds after a scroll
const SHOW_PROBLEM_AFTER = 1500; // milliseconds, so that a short interruption shows nothing
const PROBLEMS = {
  unreached: gettext("The assistant cannot be reached. Trying again…"),
  waiting: gettext("Connection lost. Reconnecting…"),
  connecting: gettext("Connecting…"),
  refused: gettext("The assistant is not available on this page."),
  "signed-out": gettext("You are signed out. Sign in to this site to go on."),
  forbidden: gettext("You are signed out, or have no access to this assistant."),
  "no-access": gettext("You have no access to this assistant."),
};
const NO_ACCESS = new Set(["refused", "signed-out", "forbidden", "no-access"]);

export class Panel {
  #title = make("h2", { dir: "auto" }, gettext("Assistant"));
  #trouble = make("p.trouble", { hidden: true });
  #notice = make("p.ai-notice", { role: "note", dir: "auto", hidden: true });
  #welcome = make("div.welcome", { hidden: true });
  #talks = make("nav.talks", { hidden: true, "aria-label": gettext("Conversations") });
  #talksButton;
  #wideButton;
  #choose;
  #thinking = make("p.thinking", { hidden: true }, gettext("Working on the answer…"));
  #status = make("p.spoken", { role: "status" });
  #box = make("textarea", { rows: 1, dir: "auto", placeholder: gettext("Write a message") });
  #waiting = make("div");
  #tooLong = make("p.too-long", { role: "alert", hidden: true });
  #send = make("button.icon", { type: "submit", title: gettext("Send"), "aria-label": gettext("Send") }, icon("send"));
  #stop;
  #scroller;
  #follow;
  #timer = 0;
  #wasOpen = false;
  #place = null; // where the last scroll has led
  #problemText = "";
  #form;
  #openTray = null;
  #tray = null;

  /** `actions`: send(text, files), which returns whether the text was accepted; stop(); fresh(), which starts a conversation; close();
   * talks(), which asks for the list of conversations; choose(id), of that list; widen(isWide). */
  constructor(actions) {
    this.logo = make("img.logo", { alt: "", hidden: true });
    this.log = make("div.log", { role: "log", "aria-live": "off", "aria-label": gettext("Conversation") });
    this.#scroller = make("div.scroller", { tabIndex: 0 }, this.#notice, this.#welcome, this.log, this.#thinking);
    this.#stop = iconButton("stop", gettext("Stop"), () => actions.stop());
    this.#stop.classList.add("stop");
    this.#stop.hidden = true;
    const jump = make("button.jump", { type: "button", hidden: true }, icon("latest"), gettext("Jump to latest"));
    const form = (this.#form = make("form", {}, this.#box, this.#send, this.#stop));
    this.#box.addEventListener("input", () => this.#fit());
    this.#choose = (id) => (id ? actions.choose(id) : actions.fresh());
    this.#talksButton = iconButton(drawn(TALKS), gettext("Conversations"), () => (this.#talks.hidden ? actions.talks() : this.closeLayer()));
    this.#talksButton.setAttribute("aria-expanded", "false");
    this.#wideButton = iconButton(drawn(WIDEN), gettext("Wide"), () => {
      this.isWide = !this.isWide;
      actions.widen(this.isWide);
    });
    this.#wideButton.classList.add("widen");
    this.isWide = false;
    const close = iconButton("close", gettext("Close"), () => actions.close());
    close.classList.add("close");
    this.element = make(
      "section.panel",
      { role: "dialog" },
      make("div.head", {}, this.logo, this.#title, this.#talksButton, iconButton("fresh", gettext("New conversation"), () => actions.fresh()), this.#wideButton, close),
      this.#talks,
      this.#trouble,
      this.#scroller,
      make("div.jump-place", {}, jump),
      this.#waiting,
      this.#tooLong,
      form,
      this.#status,
    );
    this.#follow = new Follow(this.#scroller, jump, () => !this.#welcome.hidden, () => [...this.log.querySelectorAll(".user")].at(-1));
    let timer = 0;
    this.#scroller.addEventListener("scroll", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#scroller.clientHeight && (this.#place = this.#follow.place), STILL_FOR);
    });
    this.#welcome.addEventListener("click", ({ target }) => target.type === "button" && actions.send(target.textContent));
    const submit = (event) => {
      event.preventDefault();
      const text = this.#box.value.trim();
      if ((!text && !this.#hasFiles) || this.#tooLong.textContent || this.#tray?.problem) return;
      const sent = this.#tray?.take();
      if (!actions.send(text, sent)) {
        if (sent?.length) this.#tray.restore(sent);
        return;
      }
      this.text = "";
      this.focus();
    };
    form.addEventListener("submit", submit);
    this.#box.addEventListener("keydown", (event) => {
      if (isSendKey(event)) submit(event);
    });
    const panel = this;
    const files = { shown: form, get canTake() { return Boolean(panel.#openTray); } };
    catchFiles(this.element, (list) => this.take(list), files);
    this.#box.addEventListener("paste", (event) => {
      const pasted = [...(event.clipboardData?.files ?? [])];
      if (!pasted.length) return;
      event.preventDefault();
      this.take(pasted);
    });
    this.name = gettext("Assistant");
    this.working(false);
  }

  /** Show a button that opens `input`. `openTray()` returns what shows the files that are about to be sent. */
  allowFiles(openTray, button, input) {
    if (this.#openTray) return;
    this.#openTray = openTray;
    button.classList.add("attach");
    this.#form.prepend(button, input);
  }

  /** The message box, and where optional apps put what they add to it. */
  get message() {
    return { box: this.#box, form: this.#form, place: (element) => this.#form.before(element), announce: (text) => this.announce(text) };
  }

  /** Upload files, to be sent with the next message. */
  async take(files) {
    if (this.#openTray) (await this.#shownTray()).add(files);
    else this.showProblem(gettext("Files cannot be sent to the assistant. Copy their text, please."));
  }

  /** Show files again that were not sent. */
  async restore(files) {
    if (files.length) (await this.#shownTray()).restore(files);
  }

  async #shownTray() {
    const tray = await this.#openTray();
    if (!this.#tray) this.#form.before((this.#tray = tray).element);
    return this.#tray;
  }

  get #hasFiles() {
    return Boolean(this.#tray?.hasFiles);
  }

  /** The tray's files have changed. */
  refit() {
    this.#fit();
  }

  set name(value) {
    this.#title.textContent = value;
    this.element.setAttribute("aria-label", value);
    this.#box.setAttribute("aria-label", gettext("Message to %(name)s", { name: value }));
  }

  welcome({ greeting, starters }) {
    const buttons = starters.map((text) => make("button", { type: "button", dir: "auto" }, text));
    const mark = make("span.mark", { "aria-hidden": "true" }, icon("chat"));
    this.#welcome.replaceChildren(mark, ...(greeting ? [make("p", { dir: "auto" }, greeting)] : []), ...buttons);
    this.showWelcome();
  }

  /** Say that an AI answers, at the start of each conversation or above the message box. */
  sayAi(text, place) {
    this.#notice.textContent = text;
    this.#notice.hidden = false;
    if (place === "box") this.#form.before(this.#notice);
  }

  /** Show the welcome if the conversation is empty. */
  showWelcome() {
    this.#welcome.hidden = Boolean(this.log.firstChild);
  }

  working(isBusy, isOpen = true) {
    const hadFocus = [this.#send, this.#stop].includes(this.element.getRootNode().activeElement);
    this.isBusy = isBusy;
    this.log.classList.toggle("working", isBusy);
    showStop(this.#stop, isBusy);
    this.#fit();
    this.#thinking.hidden = !isBusy || !isOpen;
    this.showWelcome();
    if (hadFocus) this.focus();
  }

  #fit() {
    const text = this.#box.value.trim();
    this.#tooLong.textContent = whyTooLong(text);
    this.#tooLong.hidden = !this.#tooLong.textContent;
    // A message written during an answer waits for its end.
    this.#send.hidden = this.isBusy && !text && !this.#hasFiles;
    this.#send.title = this.#tray?.problem || gettext("Send");
  }

  /** Put the element of a notice, such as the alarms that ring, below the head. */
  addNotice(element) {
    this.#trouble.before(element);
  }

  /** Put the element of a message that waits above the box. */
  set waiting(element) {
    this.#waiting.replaceChildren(element);
  }

  /** Show the conversations that the server has listed, with a button for a new one. */
  listTalks(entries, current) {
    const row = ({ threadId, title, at }) =>
      make(
        "button.talk",
        { type: "button", "aria-current": String(threadId === current), onclick: () => this.#chosen(threadId) },
        make("span.talk-title", { dir: "auto" }, title || gettext("Untitled conversation")),
        make("span.talk-time", {}, dayOrTime(new Date(at))),
      );
    const fresh = make("button.talk.talk-new", { type: "button", onclick: () => this.#chosen("") }, icon("fresh"), gettext("New conversation"));
    this.#talks.replaceChildren(fresh, ...entries.map(row));
    this.#talks.hidden = false;
    this.#talksButton.setAttribute("aria-expanded", "true");
    (this.#talks.querySelector("[aria-current=true]") ?? fresh).focus();
  }

  #chosen(id) {
    this.closeLayer();
    this.#choose(id);
    this.focus();
  }

  /** Close what lies over the conversation. Returns whether there was something. */
  closeLayer() {
    if (this.#talks.hidden) return leaveForm(this.element);
    const hadFocus = this.#talks.contains(this.element.getRootNode().activeElement);
    this.#talks.hidden = true;
    this.#talksButton.setAttribute("aria-expanded", "false");
    if (hadFocus) this.#talksButton.focus();
    return true;
  }

  get isWide() {
    return this.#wideButton.getAttribute("aria-pressed") === "true";
  }

  set isWide(isOn) {
    this.#wideButton.setAttribute("aria-pressed", String(isOn));
  }

  /** Where the reader is, or was when the panel was taken out of the page; null at the end. */
  get place() {
    return this.#scroller.clientHeight ? this.#follow.place : this.#place;
  }

  set place(place) {
    if (place) this.#follow.restore(place);
    else this.toEnd();
  }

  /** Scroll to the end and follow it. */
  toEnd() {
    this.#follow.toEnd();
  }

  /** Show the last question at the top, or go on after the user's decision without one. */
  began(hasQuestion) {
    this.#welcome.hidden = true;
    if (hasQuestion) this.#follow.toQuestion();
    else this.#follow.goOn();
  }

  /** Keep the reader's place while `change()` replaces messages. */
  keepPlace(change) {
    this.#follow.keep(change);
  }

  /** Take no more notice of the page. */
  remove() {
    this.#follow.close();
  }

  /** Show a state of the connection. */
  showState(state) {
    if (state !== "connecting") this.#setEnabled(!NO_ACCESS.has(state));
    if (state === "open") {
      this.#wasOpen = true;
      if (!this.#trouble.hidden) this.announce(gettext("Connected again"));
      this.hideProblem();
      return;
    }
    if (state === "connecting" && !this.#trouble.hidden) return; // keep showing the problem
    this.#problemText = PROBLEMS[state === "waiting" && !this.#wasOpen ? "unreached" : state];
    if (NO_ACCESS.has(state) || !this.#trouble.hidden) this.showProblem(this.#problemText);
    else this.#timer ||= setTimeout(() => this.showProblem(this.#problemText), SHOW_PROBLEM_AFTER);
  }

  #setEnabled(isEnabled) {
    const hadFocus = this.element.getRootNode().activeElement === this.#box;
    const controls = [this.#box, this.#send, ...this.#welcome.querySelectorAll("button")];
    for (const control of controls) control.disabled = !isEnabled;
    if (hadFocus) this.focus();
  }

  hideProblem() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#trouble.hidden = true;
  }

  showProblem(text) {
    if (this.#trouble.hidden || this.#trouble.textContent !== text) this.announce(text);
    this.#trouble.textContent = text;
    this.#trouble.hidden = false;
  }

  /** Whether nothing is being written. */
  get isIdle() {
    return !this.#box.value && !this.#hasFiles && [this.#box, this.#send, this.#stop].includes(this.element.getRootNode().activeElement);
  }

  get text() {
    return this.#box.value;
  }

  set text(value) {
    this.#box.value = value;
    this.#box.dispatchEvent(new Event("change")); // for what optional apps add
    this.#fit();
  }

  focus() {
    (this.#box.disabled ? this.#scroller : this.#box).focus({ preventScroll: true });
  }

  /** Announce a text to screen readers, also if it is the same as the last one. */
  announce(text) {
    if (this.#status.textContent === text) this.#status.textContent = "";
    this.#status.textContent = text;
  }
}
