/* The passages that an answer stands on: numbered chips in its text and under it, which open them. */

import { make } from "./elements.js";
import { gettext } from "./i18n.js";

const SHORTEST_TITLE = 4; // characters: a shorter title is found in too many words
const SKIPPED = "pre, code, a, button, math";

const isPassage = (one) => typeof one?.source_id === "string" && typeof one.source === "string" && typeof one.text === "string";

/** Return the passages in the result of a search of documents, or nothing. */
export function passagesIn(value) {
  return Array.isArray(value?.results) && value.results.length && value.results.every(isPassage) ? value.results : [];
}

const nameOf = ({ source, page }) => (page ? gettext("%(title)s, page %(page)s", { title: source, page: String(page) }) : source);

const spoken = (number, passage) => gettext("Source %(number)s: %(title)s", { number, title: nameOf(passage) });

function chip(number, passage, open) {
  const button = make("button.cite", { type: "button", title: nameOf(passage), "aria-label": spoken(number, passage) }, String(number));
  button.addEventListener("click", () => open(passage, number, button));
  return button;
}

/** Return the first place in the text of these elements where a title is, as a node and the offset behind it. */
function placeOf(title, elements) {
  const wanted = title.toLocaleLowerCase();
  for (const element of elements) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const at = node.data.toLocaleLowerCase().indexOf(wanted);
      if (at >= 0 && !node.parentElement.closest(SKIPPED)) return [node, at + title.length];
    }
  }
  return null;
}

/** Return the list of chips under an answer, and put chips behind the titles that its elements name.
 * `open(passage, number, button)` shows a passage. */
export function citeSources(passages, elements, open) {
  const byId = new Map(passages.map((passage) => [passage.source_id, passage]));
  const all = [...byId.values()];
  for (const element of elements) for (const old of element.querySelectorAll(".cites")) old.remove();
  const titles = [...new Set(all.map(({ source }) => source))].filter((title) => title.trim().length >= SHORTEST_TITLE);
  for (const title of titles) {
    const place = placeOf(title, elements);
    if (!place) continue;
    const chips = all.flatMap((passage, index) => (passage.source === title ? [chip(index + 1, passage, open)] : []));
    const [node, end] = place;
    node.splitText(end).before(make("span.cites", {}, ...chips));
  }
  const items = all.map((passage, index) => {
    const button = make("button.source", { type: "button" }, make("span.number", { "aria-hidden": "true" }, String(index + 1)), make("span.name", { dir: "auto" }, nameOf(passage)));
    button.setAttribute("aria-label", spoken(index + 1, passage));
    button.addEventListener("click", () => open(passage, index + 1, button));
    return make("li", {}, button);
  });
  return make("ol.sources", { "aria-label": gettext("Sources") }, ...items);
}

/** Return a passage as elements: the title, where it is, and its text. */
export function passageShown({ source, heading, page, text }) {
  const where = [heading, page && gettext("page %(page)s", { page: String(page) })].filter(Boolean).join(" · ");
  return [make("p.passage-title", { dir: "auto" }, source), make("p.where", { dir: "auto", hidden: !where }, where), make("p.passage-text", { dir: "auto" }, text)];
}
