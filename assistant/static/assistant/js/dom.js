/* DOM functions of the chat page: cloning its templates, copying text, announcing text to screen readers. */

export { afterFlush, isSendKey, newId, swapButtons, touch } from "./shared.js";

export const byId = (id) => document.getElementById(id);

/** Return a copy of the page's template `piece-NAME`. */
export const piece = (name) => byId(`piece-${name}`).content.firstElementChild.cloneNode(true);

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea"); // works without a secure origin or a permission
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

const status = byId("status");

/** Announce a text to screen readers, also if it is the same as the last one. */
export function announce(text) {
  if (status.textContent === text) status.textContent = "";
  status.textContent = text;
}
