/* What listens: loaded when the microphone is first pressed. Nothing is recorded or sent by us; browsers may ask their maker's
 * service, so that is said before the first time. */

import { make } from "../js/elements.js";
import { gettext, locale } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";

const Recognition = globalThis.SpeechRecognition ?? globalThis.webkitSpeechRecognition;
const STORED = "dictation"; // in the browser's storage, once it was agreed to
const REASONS = {
  "not-allowed": gettext("The browser does not allow the microphone here."),
  "service-not-allowed": gettext("The browser does not allow dictation here."),
  "audio-capture": gettext("There is no microphone."),
  network: gettext("The browser could not reach what writes speech down."),
  "language-not-supported": gettext("The browser cannot write this language down."),
};

function isAgreed() {
  try {
    return localStorage.getItem(STORED) === "yes";
  } catch {
    return false; // it is asked each time
  }
}

export class Listening {
  #options;
  #button;
  #note;
  #recognition = null;

  /** `button`: that which was pressed; `note`: where it is said what goes on; `options`: those of a part of the message box. */
  constructor({ button, note, options, signal }) {
    this.#options = options;
    this.#button = button;
    this.#note = note;
    addEventListener("message-sent", () => this.#stop(), { signal });
    options.form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#recognition) return;
      event.preventDefault();
      event.stopPropagation();
      this.#stop();
    }, { signal, capture: true });
    signal.addEventListener("abort", () => this.#stop());
    addStyles(button.getRootNode(), new URL("./dictation.css", import.meta.url).href);
  }

  /** Begin, or end what goes on. */
  toggle() {
    if (this.#recognition) this.#stop();
    else if (isAgreed()) this.#start();
    else this.#ask();
  }

  /** Say where speech may go, and begin when that is agreed to. */
  #ask() {
    const agree = () => {
      try {
        localStorage.setItem(STORED, "yes");
      } catch {
        /* no storage: it is asked again */
      }
      this.#say("");
      this.#start();
    };
    const cancel = () => {
      this.#say("");
      this.#options.box.focus();
    };
    const text = gettext("Your browser writes down what you say. It may send your voice to a service of its maker; we neither hear nor keep it.");
    const start = make("button.button", { type: "button", onclick: agree }, gettext("Dictate"));
    this.#say(make("p", {}, text), make("div.row", {}, start, make("button.button.quiet", { type: "button", onclick: cancel }, gettext("Cancel"))));
    start.focus();
  }

  #say(...content) {
    this.#note.replaceChildren(...content);
    this.#note.hidden = !this.#note.textContent;
  }

  #start() {
    const recognition = (this.#recognition = new Recognition());
    Object.assign(recognition, { lang: locale, continuous: true, interimResults: true });
    recognition.onresult = (event) => this.#heard(event);
    recognition.onerror = ({ error }) => this.#failed(REASONS[error]);
    recognition.onend = () => this.#ended(recognition);
    this.#button.setAttribute("aria-pressed", "true");
    this.#say(gettext("Listening…"));
    this.#options.announce(gettext("Listening…"));
    this.#options.box.focus();
    try {
      recognition.start();
    } catch {
      this.#failed(REASONS["service-not-allowed"]);
      this.#ended(recognition);
    }
  }

  #stop() {
    this.#recognition?.stop(); // what was said last is still written down
  }

  #ended(recognition) {
    if (this.#recognition !== recognition) return;
    this.#recognition = null;
    this.#button.setAttribute("aria-pressed", "false");
    if (!this.#note.dataset.failed) this.#say("");
    delete this.#note.dataset.failed;
    this.#options.announce(gettext("Dictation has ended"));
  }

  #failed(reason) {
    if (!reason) return; // nothing was said, or it was stopped
    this.#note.dataset.failed = "yes";
    this.#say(reason);
    this.#options.announce(reason);
  }

  #heard({ results, resultIndex }) {
    let interim = "";
    for (const result of [...results].slice(resultIndex)) {
      if (result.isFinal) this.#write(result[0].transcript.trim());
      else interim += result[0].transcript;
    }
    this.#say(interim.trim() || gettext("Listening…"));
  }

  /** Put a text into the box where the cursor is. */
  #write(text) {
    const { box } = this.#options;
    if (!text) return;
    const before = box.value.slice(0, box.selectionStart);
    const gap = before && !/\s$/.test(before) ? " " : "";
    box.setRangeText(gap + text, box.selectionStart, box.selectionEnd, "end");
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
