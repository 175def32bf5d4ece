/* Small things of the page: cloning its templates, copying text, telling screen readers. */

export { afterFlush, newId, touch } from "./moments.js";

export const byId = (id) => document.getElementById(id);

export const piece = (name) => byId(`piece-${name}`).content.firstElementChild.cloneNode(true);

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea"); // the way without a secure origin or a permission
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

const status = byId("status");

/** Tell screen readers something, once. */
export function announce(text) {
  if (status.textContent === text) status.textContent = "";
  status.textContent = text;
}
