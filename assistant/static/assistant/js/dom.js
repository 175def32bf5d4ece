/* DOM functions of the chat page: cloning its templates, announcing text to screen readers. */

export { afterFlush, copyText, isSendKey, newId, showStop, touch } from "./shared.js";

/** The chat's part of the page: all of it, or an element in the base template of a host project. */
export const root = document.querySelector(".tenant-assistant");
export const frame = root.querySelector(".chat-page");

/** The host's page may use the same id. */
export const byId = (id) => root.querySelector(`#${id}`);

/** Return a copy of the page's template `piece-NAME`. */
export const piece = (name) => byId(`piece-${name}`).content.firstElementChild.cloneNode(true);

/** Let an element that has just come fade in. Its place is measured at once, so it does not move. */
export function enter(element) {
  if (matchMedia("(prefers-reduced-motion: no-preference)").matches) element.animate({ opacity: [0, 1] }, { duration: 180, easing: "ease-out" });
}

/** Announce a text to screen readers, also if it is the same as the last one. */
export function announce(text) {
  const status = byId("status");
  if (status.textContent === text) status.textContent = "";
  status.textContent = text;
}
