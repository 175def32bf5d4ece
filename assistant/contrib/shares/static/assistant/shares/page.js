/* The page of a shared conversation: formulas, times in the reader's time zone, and what optional apps add to answers. */

import { addWrap } from "../js/code_lines.js";
import { announce, frame } from "../js/dom.js";
import { icon, make } from "../js/elements.js";
import { drawFormulas } from "../js/formula.js";
import { dayAndTime, gettext } from "../js/i18n.js";
import { copyText } from "../js/shared.js";

const root = document.querySelector(".tenant-assistant");
drawFormulas(root);
for (const time of root.querySelectorAll(".shared-head time")) {
  time.textContent = dayAndTime(new Date(time.dateTime));
}

async function copied(text) {
  await copyText(text);
  announce(gettext("Copied"));
}

const transcript = root.querySelector(".transcript");
for (const turn of transcript.querySelectorAll(".turn.assistant:has(.answer)")) {
  const label = gettext("Copy the answer");
  const text = [...turn.querySelectorAll(".answer")].map((answer) => answer.innerText).join("\n\n");
  const button = make("button.icon-button", { type: "button", title: label, "aria-label": label, onclick: () => copied(text) }, icon("copy"));
  turn.append(make("div.footer", {}, make("div.actions", {}, button)));
}
function showPassage(passageShown, passage) {
  const shown = make("dialog.dialog", { "aria-label": gettext("Source"), closedby: "any" });
  const close = make("button.button", { type: "button", onclick: () => shown.close() }, gettext("Close"));
  shown.append(make("div.stack", {}, make("div", {}, ...passageShown(passage)), make("div.row", {}, close)));
  shown.addEventListener("close", () => shown.remove());
  frame.append(shown);
  shown.showModal();
}

for (const answer of transcript.querySelectorAll("[data-passages]")) {
  import("../js/sources.js").then(({ citeSources, passageShown }) => {
    const list = citeSources(JSON.parse(answer.dataset.passages), [answer], (passage) => showPassage(passageShown, passage));
    answer.after(list);
  });
}
for (const head of transcript.querySelectorAll(".code-head")) {
  const code = head.parentElement.querySelector("pre");
  head.append(make("button.copy", { type: "button", onclick: () => copied(code.textContent) }, gettext("Copy")));
  addWrap(head);
}

const scripts = transcript.dataset.details.matchAll(/(\S+) (\S+)/g);
for (const [, name, script] of scripts) {
  for (const turn of root.querySelectorAll(".turn:has([data-added])")) {
    const answers = [...turn.querySelectorAll("[data-added]")].map((element) => ({ element, value: JSON.parse(element.dataset.added)[name] }));
    const answerOf = (id) => answers.find(({ element }) => element.dataset.id === id);
    const details = answers.filter(({ value }) => value);
    if (details.length) import(script).then(({ show }) => show({ turn, details, answerOf, cardOf: () => null, address: (url) => url }));
  }
}
