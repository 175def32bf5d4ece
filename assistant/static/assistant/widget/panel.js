/* The widget's panel: its elements, the message box, and what screen readers are told. */

import { icon, iconButton, make } from "./elements.js";

const SHOW_TROUBLE_AFTER = 1500;
const TROUBLE = {
  unreached: "The assistant cannot be reached. Trying again…",
  waiting: "Connection lost. Trying to come back…",
  connecting: "Connecting…",
  refused: "The assistant is not available on this page.",
  "signed-out": "You are signed out. Sign in to this site to go on.",
};
// Until the line is open again, nothing that is written could be sent.
const TURNED_AWAY = new Set(["refused", "signed-out"]);
// So near the end, the end is what is being read.
const NEAR = 60;

export class Panel {
  #title = make("h2", {}, "Assistant");
  #trouble = make("p.trouble", { hidden: true });
  #welcome = make("div.welcome", { hidden: true });
  #thinking = make("p.thinking", { hidden: true }, "Working on the answer…");
  #status = make("p.spoken", { role: "status" });
  #box = make("textarea", { rows: 1, placeholder: "Write a message" });
  #send = make("button.icon", { type: "submit", title: "Send", "aria-label": "Send" }, icon("send"));
  #stop;
  #scroller;
  #isAtEnd = true;
  #timer = 0;
  #wasOpen = false;
  #wrong = "";

  /** `actions`: send(text) (true if taken), stop, fresh, close. */
  constructor(actions) {
    this.log = make("div.log", { role: "log", "aria-live": "off", "aria-label": "Conversation" });
    this.#scroller = make("div.scroller", { tabIndex: 0 }, this.#welcome, this.log, this.#thinking);
    this.#stop = iconButton("stop", "Stop", () => actions.stop());
    const form = make("form", {}, this.#box, this.#send, this.#stop);
    const close = iconButton("close", "Close", () => actions.close());
    close.classList.add("close");
    this.element = make(
      "section.panel",
      { role: "dialog" },
      make("div.head", {}, this.#title, iconButton("fresh", "New conversation", () => actions.fresh()), close),
      this.#trouble,
      this.#scroller,
      form,
      this.#status,
    );
    this.#scroller.addEventListener("scroll", () => (this.#isAtEnd = this.#distance < NEAR));
    this.#welcome.addEventListener("click", ({ target }) => target.type === "button" && actions.send(target.textContent));
    const submit = (event) => {
      event.preventDefault();
      const text = this.#box.value.trim();
      if (!text || this.isBusy || !actions.send(text)) return;
      this.#box.value = "";
      this.focus();
    };
    form.addEventListener("submit", submit);
    this.#box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.altKey && !event.isComposing) submit(event);
    });
    this.name = "Assistant";
    this.working(false);
  }

  get #distance() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  set name(value) {
    this.#title.textContent = value;
    this.element.setAttribute("aria-label", value);
    this.#box.setAttribute("aria-label", `Message to ${value}`);
  }

  welcome({ description, starters }) {
    const buttons = starters.map((text) => make("button", { type: "button" }, text));
    this.#welcome.replaceChildren(...(description ? [make("p", {}, description)] : []), ...buttons);
    this.showWelcome();
  }

  /** Greet, unless something has been said. */
  showWelcome() {
    this.#welcome.hidden = Boolean(this.log.firstChild);
  }

  working(isBusy, isOpen = true) {
    const hadFocus = [this.#send, this.#stop].includes(this.element.getRootNode().activeElement);
    this.isBusy = isBusy;
    this.#send.hidden = isBusy;
    this.#stop.hidden = !isBusy;
    this.#thinking.hidden = !isBusy || !isOpen;
    this.showWelcome();
    if (hadFocus) this.focus();
    this.follow();
  }

  /** Show the newest, unless the reader looks at something older. */
  follow(always = false) {
    if (always) this.#isAtEnd = true;
    if (this.#isAtEnd) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  line(state) {
    if (state !== "connecting") this.#allow(!TURNED_AWAY.has(state));
    if (state === "open") {
      this.#wasOpen = true;
      if (!this.#trouble.hidden) this.announce("Connected again");
      this.calm();
      return;
    }
    if (state === "connecting" && !this.#trouble.hidden) return; // what is wrong stays to be read
    this.#wrong = TROUBLE[state === "waiting" && !this.#wasOpen ? "unreached" : state];
    if (TURNED_AWAY.has(state) || !this.#trouble.hidden) this.trouble(this.#wrong);
    else this.#timer ||= setTimeout(() => this.trouble(this.#wrong), SHOW_TROUBLE_AFTER);
  }

  #allow(isAllowed) {
    const hadFocus = this.element.getRootNode().activeElement === this.#box;
    const controls = [this.#box, this.#send, ...this.#welcome.querySelectorAll("button")];
    for (const control of controls) control.disabled = !isAllowed;
    if (hadFocus) this.focus();
  }

  calm() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#trouble.hidden = true;
  }

  trouble(text) {
    if (this.#trouble.hidden || this.#trouble.textContent !== text) this.announce(text);
    this.#trouble.textContent = text;
    this.#trouble.hidden = false;
  }

  set text(value) {
    this.#box.value = value;
  }

  focus() {
    (this.#box.disabled ? this.#scroller : this.#box).focus({ preventScroll: true });
  }

  /** Tell screen readers something, once. */
  announce(text) {
    if (this.#status.textContent === text) this.#status.textContent = "";
    this.#status.textContent = text;
  }
}
