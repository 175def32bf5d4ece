/* DOM functions of the chat page: cloning its templates, announcing text to screen readers. */

export { afterFlush, copyText, isSendKey, newId, showStop, touch } from "./shared.js";

export const byId = (id) => document.getElementById(id);

/** Return a copy of the page's template `piece-NAME`. */
export const piece = (name) => byId(`piece-${name}`).content.firstElementChild.cloneNode(true);

/** Announce a text to screen readers, also if it is the same as the last one. */
export function announce(text) {
  const status = byId("status");
  if (status.textContent === text) status.textContent = "";
  status.textContent = text;
}
