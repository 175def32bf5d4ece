/* The form in which a question is changed. Loaded with the first question. */

import { make } from "./elements.js";
import { gettext } from "./i18n.js";
import { isSendKey, textOf } from "./shared.js";

/** Show it in place of a question's bubble. `unsent`: texts by their question, which takes what is written when the form is left;
 * `edit(text)` asks the changed question, and returns whether that was possible. */
export function openForm(article, unsent, edit) {
  const text = textOf(article.message.content); // the bubble draws a quotation
  const box = make("textarea", { rows: 3, value: unsent.get(article) ?? text, dir: "auto", "aria-label": gettext("Your question") });
  const cancel = make("button.button", { type: "button" }, gettext("Cancel"));
  const send = make("button.button.primary", { type: "submit" }, gettext("Send the change"));
  const form = make("form.edit-form", {}, box, make("div.row", {}, send, cancel));
  const root = article.getRootNode();
  const opener = root.activeElement; // the button, or the box whose up arrow was pressed
  const close = () => {
    const isElsewhere = root.activeElement && root.activeElement !== document.body && !form.contains(root.activeElement);
    removeEventListener("keydown", pressed);
    form.remove();
    article.classList.remove("editing");
    if (!isElsewhere) (opener?.isConnected ? opener : article.querySelector(".edit"))?.focus({ preventScroll: true });
  };
  // The widget asks `leaveForm`: its own Escape comes before the window's.
  const pressed = (event) => {
    if (!form.isConnected) removeEventListener("keydown", pressed);
    else if (event.key === "Escape" && !event.defaultPrevented && !event.isComposing && !document.querySelector("dialog[open]")) form.reset();
  };
  if (root === document) addEventListener("keydown", pressed);
  unsent.delete(article);
  cancel.onclick = close;
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    if (box.value !== text) unsent.set(article, box.value);
    close();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (box.value.trim() && edit(box.value.trim())) close();
  });
  form.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") form.reset();
    else if (event.target === box && isSendKey(event)) form.requestSubmit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  article.classList.add("editing");
  article.querySelector(".bubble").after(form);
  box.focus();
  box.setSelectionRange(box.value.length, box.value.length);
}
