/* What lets a conversation branch: the switch between versions of a message, and the way to the form in which a question is changed. */

import { icon, make } from "./elements.js";
import { gettext } from "./i18n.js";

const unsent = new WeakMap(); // changed texts of forms that were left, or could not be sent, by the form's message
let loading = null; // the form: the first question asks for it, so that it is there when it is wanted

/** The switches between versions below the messages of `root`. `actions`: show(messageId), announce(text). */
export class Versions {
  #root;
  #actions;
  #wanted = null;

  constructor(root, actions) {
    this.#root = root;
    this.#actions = actions;
  }

  /** Return the switch of an AG-UI message, as its `metadata.versions` tells; null if there is one version. */
  of({ id, metadata }) {
    if (!metadata?.versions) return null;
    const { number, of, previous, next } = metadata.versions;
    const step = (label, sign, other) => {
      const act = () => {
        this.#wanted = { id: other, label };
        this.#actions.show(other);
      };
      return make("button.icon-button.step", { type: "button", title: label, "aria-label": label, disabled: !other, onclick: act }, sign);
    };
    const count = make("bdi", { dir: "ltr", "aria-hidden": "true" }, `${number}/${of}`);
    const parts = [step(gettext("Previous version"), "‹", previous), count, step(gettext("Next version"), "›", next)];
    return make("div.versions", { role: "group", "aria-label": gettext("Version %(number)s of %(of)s", { number, of }), "data-id": id }, ...parts);
  }

  /** Put the focus back, which the switched messages took with them, and say which version is shown. */
  refocus() {
    const bar = [...this.#root.querySelectorAll(".versions")].find((one) => one.dataset.id === this.#wanted?.id);
    if (!bar) return;
    const steps = [...bar.querySelectorAll(".step:enabled")];
    (steps.find(({ title }) => title === this.#wanted.label) ?? steps[0])?.focus({ preventScroll: true });
    this.#wanted = null;
    this.#actions.announce(bar.getAttribute("aria-label"));
  }
}

/** Return the form's module; null without a network: it is asked for again. */
const loadForm = () => (loading ??= import("./edit_form.js").catch(() => (loading = null)));

/** Add what stands under a question: a button to change it, and the switch between its versions, or null.
 * `edit(text)` asks the changed question, and returns whether that was possible. */
export function addQuestionTools(article, versions, edit) {
  article.querySelector(":scope > .question-tools")?.remove();
  const bubble = article.querySelector(".bubble");
  loadForm();
  const open = async () => {
    const loaded = await loadForm();
    if (article.isConnected && !article.querySelector(".edit-form")) loaded?.openForm(article, unsent, edit);
  };
  const label = gettext("Edit the question");
  const button = make("button.icon-button.edit", { type: "button", title: label, "aria-label": label, onclick: open }, icon("edit"));
  bubble.after(make("div.question-tools", {}, ...[button, versions].filter(Boolean)));
}

/** Leave the form in which a question of `root` is changed; what was written is there when it is opened again. Returns whether there was one. */
export function leaveForm(root) {
  const form = root.querySelector(".edit-form");
  form?.reset();
  return Boolean(form);
}

/** Open the form of a question again, with a text that could not be sent. Returns whether it could. */
export function editAgain(article, text) {
  const button = article.querySelector(".edit");
  unsent.set(article, text);
  button?.click();
  return Boolean(button);
}

/** Return whether a failed turn is to be asked for again, because nothing is in it to go on from.
 * `isLive`: its end was received as it happened. Else an answer without a note on it is whole, and of an earlier run. */
export function isToBeAskedAgain(items, isLive) {
  const last = [...items.children].findLast((one) => !one.classList.contains("failure"));
  return !last || (!isLive && last.classList.contains("answer"));
}

/** Return a button below an answer that was cut off. */
export function goOnButton(goOn) {
  return make("button.button.go-on", { type: "button", onclick: goOn }, gettext("Continue"));
}

/** Fold the parts of a message away. */
export function fold(items, parts) {
  const own = parts.map((one) => one?.element).filter((one) => one?.parentElement === items);
  const made = make("details.superseded", {}, make("summary", {}, gettext("Cut off, and written again below")));
  own[0]?.before(made);
  made.append(...own);
}
