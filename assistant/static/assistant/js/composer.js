/* The message box: grows with its text, sends on Enter, stops the run on Escape, and keeps the focus. */

import { byId, isSendKey, swapButtons } from "./dom.js";

const hasKeyboard = matchMedia("(pointer: fine)");

export class Composer {
  #form = byId("composer");
  #box = byId("message");
  #send = byId("send");
  #stop = byId("stop");
  #isBusy = false;

  /** `actions`: send(text), which returns whether the text was accepted, and stop(). */
  constructor(actions) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(actions);
    });
    this.#box.addEventListener("input", () => this.#fit());
    this.#box.addEventListener("keydown", (event) => {
      if (!isSendKey(event)) return;
      event.preventDefault();
      this.#submit(actions);
    });
    this.#stop.addEventListener("click", () => {
      actions.stop();
      this.focus();
    });
    addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented || !this.#isBusy || document.querySelector("dialog[open]")) return;
      actions.stop();
    });
    this.#fit();
  }

  set isBusy(value) {
    this.#isBusy = value;
    const hadFocus = document.activeElement === this.#send || document.activeElement === this.#stop;
    swapButtons(this.#send, this.#stop, value);
    if (hadFocus) this.focus();
  }

  /** Whether nothing is being written, in the box or elsewhere. */
  get isIdle() {
    return !this.text && [this.#box, this.#send, this.#stop, document.body].includes(document.activeElement);
  }

  get text() {
    return this.#box.value;
  }

  set text(value) {
    this.#box.value = value;
    this.#fit();
  }

  focus() {
    this.#box.focus({ preventScroll: true });
  }

  #submit(actions) {
    const text = this.#box.value.trim();
    if (!text || this.#isBusy) return;
    if (actions.send(text)) this.text = "";
    if (hasKeyboard.matches) this.focus();
  }

  #fit() {
    this.#send.disabled = !this.#box.value.trim();
    if (CSS.supports("field-sizing", "content")) return;
    this.#box.style.height = "auto";
    this.#box.style.height = `${Math.min(this.#box.scrollHeight, innerHeight * 0.4)}px`;
  }
}
