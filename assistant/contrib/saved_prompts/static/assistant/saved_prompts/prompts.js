/* Saved prompts: those that a slash at the beginning of the message box offers, and the form of a prompt's variables. */

import { make } from "../js/elements.js";
import { gettext, ngettext } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";
import { Suggestions } from "../js/suggestions.js";

const WAIT = 120; // milliseconds after the last letter
const MOST = 8; // prompts that are offered
const MOST_NAME = 60; // characters after the slash
// What was typed of a name after a slash at the very beginning: anywhere else it is a path, a date or a fraction.
const TYPED = new RegExp(`^/([^/\\n]{0,${MOST_NAME}})$`, "u");
const FAILED = gettext("The saved prompts could not be loaded.");

export default class SavedPrompts {
  element = make("div.saved-prompts", { hidden: true });
  #options;
  #asked = null;
  #timer = 0;
  #prompts;
  #form = null; // of the variables of a chosen prompt

  constructor(options, signal) {
    this.#options = options;
    const { box, form, announce } = options;
    this.#prompts = new Suggestions(
      {
        box,
        form,
        announce,
        label: gettext("Saved prompts"),
        content: ({ name, description }) => [make("bdi.prompt-name", {}, name), make("span.prompt-about", { dir: "auto" }, description)],
        choose: (prompt) => this.#choose(prompt),
        said: (count) => ngettext("%(count)s saved prompt, choose with the arrow keys", "%(count)s saved prompts, choose with the arrow keys", count),
        changed: () => this.#fit(),
      },
      signal,
    );
    this.element.append(this.#prompts.element);
    box.addEventListener("input", () => this.typed(), { signal });
    box.addEventListener("blur", () => clearTimeout(this.#timer), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
    Promise.resolve().then(() => addStyles(this.element.getRootNode(), new URL("./prompts.css", import.meta.url).href));
  }

  /** Nothing: the text of a prompt is the message's own. */
  forwarded() {
    return {};
  }

  get #typed() {
    const { box } = this.#options;
    if (box.selectionStart !== box.selectionEnd || box.selectionEnd !== box.value.length) return null;
    return TYPED.exec(box.value)?.[1] ?? null;
  }

  /** The text has changed. */
  typed() {
    clearTimeout(this.#timer);
    const text = this.#typed;
    if (text === null) return this.#prompts.close();
    this.#timer = setTimeout(() => this.#search(text), WAIT);
  }

  async #search(text) {
    const found = await this.#load(`?${new URLSearchParams({ search: text, limit: MOST })}`);
    if (this.#typed !== text) return;
    if (!found) this.#prompts.offer([], FAILED);
    else if (found.length) this.#prompts.offer(found);
    else if (text) this.#prompts.close(); // it may be meant as it stands
    else this.#prompts.offer([], gettext("You have no saved prompts yet. The page of saved prompts makes them."));
  }

  /** Ask the API. Returns null if that failed. */
  async #load(address, values) {
    const { url, headers } = this.#options;
    this.#asked?.abort();
    const { signal } = (this.#asked = new AbortController());
    const sent = values && { method: "POST", body: JSON.stringify({ values }) };
    const types = values && { "Content-Type": "application/json" };
    try {
      const answer = await fetch(url + address, { ...sent, headers: { ...headers(), ...types }, signal });
      return answer.ok ? await answer.json() : null;
    } catch {
      return null; // offline, or asked again
    }
  }

  #choose(prompt) {
    if (!prompt.variables.length) return this.#use(prompt, {});
    this.#ask(prompt);
  }

  /** Put a prompt's text into the box. */
  async #use(prompt, values) {
    const { box, announce } = this.#options;
    const used = await this.#load(`${prompt.id}/uses/`, values);
    if (!used) {
      this.#prompts.offer([], FAILED);
      return;
    }
    this.#leave();
    box.value = used.text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    announce(gettext("%(name)s is in the message box", { name: prompt.name }));
  }

  // The form of variables. It stands within the form of the message, so it is none itself.

  #ask(prompt) {
    const fields = prompt.variables.map((name) => [name, make("textarea", { rows: 1, dir: "auto", maxLength: 4000, required: true })]);
    const fill = () => {
      const empty = fields.find(([, field]) => !field.value.trim());
      if (empty) return empty[1].focus();
      this.#use(prompt, Object.fromEntries(fields.map(([name, field]) => [name, field.value])));
    };
    const buttons = make(
      "div.prompt-buttons",
      {},
      make("button.prompt-fill", { type: "button", onclick: fill }, gettext("Insert")),
      make("button.prompt-cancel", { type: "button", onclick: () => this.#leave() }, gettext("Cancel")),
    );
    const labels = fields.map(([name, field]) => make("label", {}, make("bdi", {}, name), field));
    this.#form?.remove();
    this.#form = make("div.prompt-form", { role: "group", "aria-label": prompt.name }, make("p.prompt-title", { dir: "auto" }, prompt.name), ...labels, buttons);
    this.#form.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") this.#leave();
      else if (event.key === "Enter" && !event.shiftKey && event.target.matches("textarea")) fill();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.element.append(this.#form);
    this.#fit();
    fields[0][1].focus();
    this.#options.announce(gettext("%(name)s asks for %(variables)s", { name: prompt.name, variables: prompt.variables.join(", ") }));
  }

  #leave() {
    this.#form?.remove();
    this.#form = null;
    this.#fit();
    this.#options.box.focus();
  }

  #fit() {
    this.element.hidden = !this.#prompts.isOpen && !this.#form;
  }
}
