/* A button that has the browser write down what is said. What listens is loaded when it is first pressed. */

import { make } from "../js/elements.js";
import { gettext } from "../js/i18n.js";

const canListen = Boolean(globalThis.SpeechRecognition ?? globalThis.webkitSpeechRecognition);
const MICROPHONE = "M12 3.5a2.8 2.8 0 0 0-2.8 2.8v5a2.8 2.8 0 0 0 5.6 0v-5A2.8 2.8 0 0 0 12 3.5M5.8 11.3a6.2 6.2 0 0 0 12.4 0M12 17.5v3";

function microphone() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS(svg.namespaceURI, "path");
  for (const [name, value] of Object.entries({ viewBox: "0 0 24 24", "aria-hidden": "true", class: "icon" })) svg.setAttribute(name, value);
  path.setAttribute("d", MICROPHONE);
  svg.append(path);
  return svg;
}

export default class Dictation {
  element = make("div.dictation.box-tool", { hidden: !canListen });
  #listening = null;

  constructor(options, signal) {
    const label = gettext("Dictate");
    const note = make("div.dictation-note", { hidden: true });
    const press = async () => {
      this.#listening ??= import("./listening.js").then(({ Listening }) => new Listening({ button, note, options, signal }));
      (await this.#listening).toggle();
    };
    const button = make("button.icon-button.dictate", { type: "button", title: label, "aria-label": label, "aria-pressed": "false", onclick: press }, microphone());
    this.element.append(note, button);
  }

  /** Nothing: what was said is the message's own text. */
  forwarded() {
    return {};
  }

  typed() {
    /* What is typed meanwhile stays where it is. */
  }
}
