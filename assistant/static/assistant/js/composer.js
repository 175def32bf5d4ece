/* The message box: grows with its text, sends on Enter, stops the run on Escape, and keeps the focus. */

import { byId, isSendKey, showStop } from "./dom.js";
import { gettext } from "./i18n.js";
import { isShortcut } from "./shortcuts.js";
import { toast } from "./toast.js";

const hasKeyboard = matchMedia("(pointer: fine)");
const LONG_PASTE = 5_000; // characters from which a pasted text becomes a file

export class Composer {
  #form = byId("composer");
  #box = byId("message");
  #send = byId("send");
  #stop = byId("stop");
  #problem = byId("too-long");
  #actions;
  #isBusy = false;
  #tray = null;
  #pasted = null; // the long text that became a file last: {file, forget}

  /** `actions`: send(text), which returns whether the text was accepted; stop(); problem(text), why it cannot be sent;
   * files(list), for pasted and chosen files, or null; changed(); up(), for the up arrow in the empty box, which returns whether it did something. Keys of the page are read until `signal` aborts. */
  constructor(actions, signal) {
    this.#actions = actions;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#box.addEventListener("input", () => this.#changed());
    this.#box.addEventListener("keydown", (event) => {
      if (event.key === "ArrowUp" && !this.#box.value && !this.#isBusy && actions.up()) event.preventDefault();
      if (!isSendKey(event)) return;
      event.preventDefault();
      this.#submit();
    });
    if (actions.files) this.#takeFiles(actions.files);
    this.#stop.addEventListener("click", () => {
      actions.stop();
      this.focus();
    });
    addEventListener("keydown", (event) => {
      if (!isShortcut(event, "stop") || event.defaultPrevented || !this.#isBusy || document.querySelector("dialog[open]")) return;
      if (event.key === "Escape" && document.querySelector(".edit-form")) return; // one thing at a time: it leaves the form
      event.preventDefault();
      actions.stop();
    }, { signal });
    this.#fit();
  }

  /** Show the files of the message, from now on. */
  set tray(tray) {
    this.#tray = tray;
    this.#form.prepend(tray.element);
  }

  /** The tray's files have changed. */
  refit() {
    if (this.#pasted && !this.#tray.has(this.#pasted.file)) this.#forgetPasted(); // sent, or removed
    this.#fit();
  }

  #takeFiles(take) {
    const input = byId("file-input");
    byId("attach").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      take([...input.files]);
      input.value = ""; // the same file can be chosen again
      this.focus();
    });
    this.#box.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      const text = files.length ? "" : (event.clipboardData?.getData("text/plain") ?? "");
      const isLong = text.length >= LONG_PASTE && input.accept.split(",").includes(".txt");
      if (!files.length && !isLong) return;
      event.preventDefault();
      if (isLong) this.#takeText(text, take);
      else take(files);
    });
  }

  /** Attach a long text, which would bury the question, as a file; *Undo* puts it into the box. */
  #takeText(text, take) {
    const file = new File([text], `${gettext("Pasted text")}.txt`, { type: "text/plain" });
    take([file]);
    const undo = () => {
      if (!this.#tray.withdraw(file)) return;
      const { selectionStart, selectionEnd } = this.#box;
      this.#box.setRangeText(text, selectionStart, selectionEnd, "end");
      this.#changed();
      this.focus();
    };
    const forget = toast(gettext("The long text is attached as a file."), { undo });
    this.#pasted = { file, forget };
  }

  #forgetPasted() {
    this.#pasted.forget();
    this.#pasted = null;
  }

  get #hasFiles() {
    return Boolean(this.#tray?.hasFiles);
  }

  get isBusy() {
    return this.#isBusy;
  }

  set isBusy(value) {
    this.#isBusy = value;
    const hadFocus = document.activeElement === this.#send || document.activeElement === this.#stop;
    showStop(this.#stop, value);
    this.#fit();
    if (hadFocus) this.focus();
  }

  /** Whether nothing is being written, in the box or elsewhere. */
  get isIdle() {
    return !this.text && !this.#hasFiles && [this.#box, this.#send, this.#stop, document.body].includes(document.activeElement);
  }

  get text() {
    return this.#box.value;
  }

  set text(value) {
    this.#box.value = value;
    this.#box.dispatchEvent(new Event("change")); // for what optional apps add
    this.#changed();
  }

  focus() {
    this.#box.focus({ preventScroll: true });
  }

  /** Send a text whose Enter came before this script was there, when it could only start a new line. */
  submitEarly() {
    if (hasKeyboard.matches && this.#box.value.endsWith("\n")) this.#submit();
  }

  #submit() {
    const text = this.#box.value.trim();
    if ((!text && !this.#hasFiles) || this.#problem.textContent || this.#tray?.problem) return;
    if (this.#actions.send(text)) this.text = "";
    if (hasKeyboard.matches) this.focus();
  }

  #changed() {
    this.#fit();
    this.#actions.changed();
  }

  #fit() {
    const text = this.#box.value.trim();
    const problem = this.#actions.problem(text);
    if (this.#problem.textContent !== problem) this.#problem.textContent = problem;
    const isEmpty = !text && !this.#hasFiles;
    const waits = this.#tray?.problem ?? "";
    this.#send.disabled = isEmpty || Boolean(problem || waits);
    // During an answer a message can be written, which waits for the answer's end.
    this.#send.hidden = this.#isBusy && isEmpty;
    this.#send.title = waits || (this.#isBusy ? gettext("Send after this answer") : gettext("Send"));
    if (CSS.supports("field-sizing", "content")) return;
    const form = this.#box.form;
    form.style.minHeight = `${form.offsetHeight}px`; // measuring must not make room above for a moment: the transcript would scroll
    this.#box.style.height = "auto";
    this.#box.style.height = `${Math.min(this.#box.scrollHeight, innerHeight * 0.4)}px`;
    form.style.minHeight = "";
  }
}
