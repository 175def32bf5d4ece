/* A list of the assistant's models in the message box. What is chosen answers each message of the conversation in this window. */

import { make } from "../js/elements.js";
import { gettext } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";

export default class ModelChoice {
  element = make("div.model-choice.box-tool", {});
  #select;

  constructor(options, signal) {
    const models = JSON.parse(document.getElementById("chat").dataset.models);
    const title = gettext("Model that answers");
    const own = new Option(gettext("Standard model"), "");
    this.#select = make("select", { title, "aria-label": title }, own, ...models.map((model) => new Option(model, model)));
    const key = () => `model of ${options.thread()}`;
    this.#select.value = stored(key(), models);
    const change = () => {
      store(key(), this.#select.value);
      options.box.focus();
    };
    this.#select.addEventListener("change", change, { signal });
    this.element.append(this.#select);
    Promise.resolve().then(() => addStyles(this.element.getRootNode(), new URL("./choice.css", import.meta.url).href));
  }

  forwarded() {
    return this.#select.value ? { model: this.#select.value } : {};
  }

  typed() {
    /* What is typed changes nothing here. */
  }
}

/** The model that this window remembers for a conversation, if the assistant still has it. */
function stored(key, models) {
  try {
    const model = sessionStorage.getItem(key);
    return models.includes(model) ? model : "";
  } catch {
    return ""; // without storage a reload goes back to the standard model
  }
}

function store(key, model) {
  try {
    sessionStorage.setItem(key, model);
  } catch {
    /* no storage, as above */
  }
}
