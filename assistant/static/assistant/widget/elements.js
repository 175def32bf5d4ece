/* Creates elements without HTML strings, which a host page's Content-Security-Policy may forbid. */

import { copyText } from "../js/shared.js";

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  chat: "M4 5.5h16v11H11l-5 4v-4H4z",
  close: "M6 6l12 12M18 6L6 18",
  fresh: "M12 5v14M5 12h14",
  send: "M12 19V5.5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
};

/** Return an element with classes, properties and children: `make("p.note", {hidden: true}, "text")`. */
export function make(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  made.classList.add(...classes);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && !key.includes("-")) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export const iconButton = (name, label, act) =>
  make("button.icon", { type: "button", title: label, "aria-label": label, onclick: act }, icon(name));

/** Return a button that copies the text that `text()` returns, and says for a moment that it has. */
export function copyButton(label, text) {
  const button = make("button.copy", { type: "button", "aria-label": label }, "Copy");
  button.onclick = async () => {
    await copyText(text());
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1600);
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
