/* One message that something was done, with a button that takes it back. */

import { announce, frame } from "./dom.js";
import { make } from "./elements.js";
import { gettext } from "./i18n.js";

const SHOWN_FOR = 10_000; // milliseconds, without those in which the pointer or the focus is on it

let close = () => {}; // the message that is shown

/** Take a message off once it has faded, at once where nothing moves. */
function leave(element) {
  element.inert = true;
  element.classList.add("leaving");
  Promise.allSettled(element.getAnimations().map(({ finished }) => finished)).then(() => element.remove());
}

/** Show what was done. `undo()` takes it back; `keep()` is called once instead if the message goes without that.
 * Returns a function that takes the message off, if it is still shown. */
export function toast(text, { undo = null, keep = () => {} } = {}) {
  close();
  let timer = 0;
  const end = (act) => {
    clearTimeout(timer);
    removeEventListener("pagehide", kept);
    close = () => {};
    leave(element);
    act();
  };
  const kept = () => end(keep);
  const button = make("button.link-button", { type: "button", hidden: !undo, onclick: () => end(undo) }, gettext("Undo"));
  const element = make("div.toast", { role: "group", "aria-label": gettext("Done just now") }, make("span", { dir: "auto" }, text), button);
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(kept, SHOWN_FOR);
  };
  for (const kind of ["pointerenter", "focusin"]) element.addEventListener(kind, () => clearTimeout(timer));
  for (const kind of ["pointerleave", "focusout"]) element.addEventListener(kind, wait);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    kept();
  });
  addEventListener("pagehide", kept);
  close = kept;
  // What a dialog leaves outside cannot be reached.
  (document.querySelector("dialog[open]") ?? frame).append(element);
  announce(text);
  wait();
  return () => close === kept && kept();
}
