/* A ring beside the message box's hint: how much is used of what the assistant reads of the conversation, and a way on. */

import { byId } from "../js/dom.js";
import { make } from "../js/elements.js";
import { gettext, locale } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";

const SVG = "http://www.w3.org/2000/svg";

function circle(name) {
  const made = document.createElementNS(SVG, "circle");
  for (const [key, value] of Object.entries({ class: name, cx: 10, cy: 10, r: 7, pathLength: 100 })) made.setAttribute(key, value);
  return made;
}

function ring() {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 20 20", "aria-hidden": "true" })) svg.setAttribute(key, value);
  svg.append(circle("context-all"), circle("context-used"));
  return svg;
}

/** Return the sentence for a share of the context, from 0 to 1. */
function sentence(share, older) {
  const summarised = gettext("Older messages are summarised.");
  if (older === "left_out") return gettext("Older messages are no longer read.");
  if (share === 1) return older === "summarised" ? summarised : gettext("Older messages are no longer read.");
  const percent = new Intl.NumberFormat(locale, { style: "percent" }).format(Math.floor(share * 100) / 100);
  const used = gettext("%(share)s of what this assistant reads is used.", { share: percent });
  return older === "summarised" ? `${used} ${summarised}` : used;
}

/** Hide the gauge when a new summary comes, which makes room: the next answer says how much. */
function hideWithSummary(gauge) {
  const text = byId("summary-text");
  new MutationObserver(() => text.textContent !== gauge.summary && (gauge.hidden = true)).observe(text, { childList: true });
}

function added() {
  const open = () => {
    gauge.classList.remove("closed");
    button.focus();
  };
  const button = make("button.context-ring", { type: "button", onclick: open }, ring());
  const begin = make("a", { href: document.querySelector(".new-chat").href }, gettext("New conversation"));
  const gauge = make("div.context-gauge", {}, button, make("div.context-note", {}, make("p", { dir: "auto" }), begin));
  const reopen = () => gauge.classList.remove("closed");
  gauge.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || gauge.classList.contains("closed")) return;
    event.preventDefault(); // it would stop the answer
    gauge.classList.add("closed");
  });
  gauge.addEventListener("focusout", reopen);
  byId("hint").after(gauge);
  hideWithSummary(gauge);
  return gauge;
}

/** Draw how much is used. `share`: from 0 to 1. */
export async function draw({ share, older, isShown }) {
  await addStyles(document, new URL("./ring.css", import.meta.url).href);
  const gauge = document.querySelector(".context-gauge") ?? added();
  const text = sentence(share, older);
  gauge.hidden = !isShown;
  gauge.summary = byId("summary-text").textContent;
  gauge.classList.toggle("full", share === 1);
  gauge.querySelector(".context-used").setAttribute("stroke-dasharray", `${share * 100} 100`);
  const button = gauge.querySelector("button");
  button.setAttribute("aria-label", text);
  button.title = text; // The note opens by a click: one that opened below a resting pointer would lie over Send.
  gauge.querySelector("p").textContent = text;
}
