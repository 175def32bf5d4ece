/* The widget's buttons, and the server's HTML as nodes. */

import { icon, make } from "../js/elements.js";
import { gettext } from "../js/i18n.js";
import { copyText } from "../js/shared.js";

export { icon, make };

/** Return an icon that only the widget has, by its path. */
export function drawn(path) {
  const made = icon("close");
  made.firstChild.setAttribute("d", path);
  return made;
}

export const iconButton = (name, label, act) =>
  make("button.icon", { type: "button", title: label, "aria-label": label, onclick: act }, typeof name === "string" ? icon(name) : name);

/** Return a button that copies the text that `text()` returns, and says for a moment that it has. */
export function copyButton(label, text) {
  const button = make("button.copy", { type: "button", "aria-label": label }, gettext("Copy"));
  button.onclick = async () => {
    await copyText(text());
    button.textContent = gettext("Copied");
    setTimeout(() => (button.textContent = gettext("Copy")), 1600);
  };
  return button;
}

/** Return the Trusted Types policy for the server's HTML; null if the host page forbids one: answers are then plain text. */
function htmlPolicy() {
  if (!globalThis.trustedTypes) return { createHTML: (html) => html };
  try {
    return trustedTypes.createPolicy("tenant-assistant", { createHTML: (html) => html });
  } catch {
    return null;
  }
}

const policy = htmlPolicy();

/** Return the server's sanitised HTML as nodes, or null if the host page forbids it. */
export function nodesOf(html) {
  if (!policy) return null;
  const holder = document.createElement("template");
  try {
    holder.innerHTML = policy.createHTML(html);
  } catch {
    return null;
  }
  return holder.content;
}
