/* The form for a comment on a rating. Loaded with the first rating. */

import { make } from "./elements.js";
import { gettext } from "./i18n.js";

const MAX_COMMENT = 4000; // characters

/** Return the form for a rating (1 or -1). `send(comment)` returns whether that was possible; `close()` is called when it is over. */
export function commentForm(rating, send, close) {
  const box = make("textarea", { rows: 2, maxLength: MAX_COMMENT });
  const question = rating > 0 ? gettext("What was good? (optional)") : gettext("What was wrong? (optional)");
  const cancel = make("button.button", { type: "button", onclick: close }, gettext("No comment"));
  const form = make("form.comment", { "aria-label": gettext("Comment") }, make("label.field", {}, make("span", {}, question), box), make("div.row", {}, make("button.button.primary", { type: "submit" }, gettext("Send comment")), cancel));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (box.value.trim() && !send(box.value.trim())) return;
    close();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  });
  return form;
}
