/* The button at a block of code that wraps its long lines; blocks that come later follow the last choice. Loaded with the first. */

import { make } from "./elements.js";
import { gettext } from "./i18n.js";

let isWrapped = false;

/** Put the button into the head of a block of code, before the one that copies. */
export function addWrap(head) {
  const code = head.parentElement;
  const press = () => {
    isWrapped = code.toggleAttribute("data-wrap");
    button.setAttribute("aria-pressed", String(isWrapped));
  };
  const button = make("button.wrap", { type: "button", "aria-pressed": String(isWrapped), onclick: press }, gettext("Wrap lines"));
  code.toggleAttribute("data-wrap", isWrapped);
  head.lastElementChild.before(button);
}
