/* A button that makes the new conversation a temporary one, and what is said of it. The conversation is deleted when it is left. */

import { make } from "../js/elements.js";
import { gettext } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";

const CLOCK = "M12 3.5a8.5 8.5 0 0 1 4.3 1.2m2.9 2.9a8.5 8.5 0 0 1 1.2 5.6m-1.7 3.7a8.5 8.5 0 0 1-4.6 3.3m-4.2.1a8.5 8.5 0 0 1-4.8-3.2m-1.6-3.9a8.5 8.5 0 0 1 1.2-5.6m2.9-2.9A8.5 8.5 0 0 1 12 3.5M12 8v4.3l2.8 1.7";

function clock() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS(svg.namespaceURI, "path");
  for (const [name, value] of Object.entries({ viewBox: "0 0 24 24", "aria-hidden": "true", class: "icon" })) svg.setAttribute(name, value);
  path.setAttribute("d", CLOCK);
  svg.append(path);
  return svg;
}

export default class Temporary {
  element = make("div.temporary.box-tool", {});
  #options;
  #isOn = false;
  #address = ""; // of the conversation, once it has begun

  constructor(options, signal) {
    this.#options = options;
    const label = gettext("Temporary conversation");
    const note = make("p.temporary-note", { hidden: true }, gettext("Temporary: in no list, and deleted when you leave it, at the latest an hour after its last answer."));
    const press = () => {
      this.#isOn = !this.#isOn;
      button.setAttribute("aria-pressed", String(this.#isOn));
      note.hidden = !this.#isOn;
      options.announce(this.#isOn ? note.textContent : gettext("This conversation is kept."));
      options.box.focus();
    };
    const button = make("button.icon-button.make-temporary", { type: "button", title: label, "aria-label": label, "aria-pressed": "false", onclick: press }, clock());
    this.element.append(note, button);
    const begun = () => {
      button.remove();
      if (this.#isOn) this.#address = `${options.url}${options.thread()}/`;
    };
    if (document.getElementById("welcome")) addEventListener("message-sent", begun, { signal, once: true });
    else begun(); // while this was being loaded
    addEventListener("pagehide", () => this.#leave(), { signal });
    signal.addEventListener("abort", () => this.#leave());
    Promise.resolve().then(() => addStyles(this.element.getRootNode(), new URL("./temporary.css", import.meta.url).href));
  }

  #leave() {
    if (!this.#address) return;
    // If it is still being answered, the server deletes it later.
    fetch(this.#address, { method: "DELETE", headers: this.#options.headers(), keepalive: true }).catch(() => {});
    this.#address = "";
  }

  forwarded() {
    return this.#isOn ? { temporary: true } : {};
  }

  typed() {
    /* What is typed changes nothing here. */
  }
}
