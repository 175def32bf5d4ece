/* The page of a shared conversation: formulas, times in the reader's time zone, and what optional apps add to answers. */

import { drawFormulas } from "../js/formula.js";
import { dayAndTime } from "../js/i18n.js";

const root = document.querySelector(".tenant-assistant");
drawFormulas(root);
for (const time of root.querySelectorAll("time")) {
  time.textContent = dayAndTime(new Date(time.dateTime));
}

const scripts = root.querySelector(".transcript").dataset.details.matchAll(/(\S+) (\S+)/g);
for (const [, name, script] of scripts) {
  for (const turn of root.querySelectorAll(".turn:has([data-added])")) {
    const answers = [...turn.querySelectorAll("[data-added]")].map((element) => ({ element, value: JSON.parse(element.dataset.added)[name] }));
    const answerOf = (id) => answers.find(({ element }) => element.dataset.id === id);
    const details = answers.filter(({ value }) => value);
    if (details.length) import(script).then(({ show }) => show({ turn, details, answerOf, cardOf: () => null, address: (url) => url }));
  }
}
