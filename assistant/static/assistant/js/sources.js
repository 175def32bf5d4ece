/* The passages that an answer names by their numbers: chips in place of the numbers, and under the answer, which open them.
 * Loaded with the first answer that names some. */

import { make } from "./elements.js";
import { gettext, listed } from "./i18n.js";

const SKIPPED = "pre, code, a, button, math, .host";
// As the server reads them (services/knowledge/citations.py): [3], [3, 7.2].
const MARK = /\[(\d{1,9}(?:\.\d{1,9})?(?:[,;] ?\d{1,9}(?:\.\d{1,9})?){0,9})\]/g;

const onPage = (page) => gettext("page %(page)s", { page: String(page) });
const nameOf = ({ source, page, heading }) => listed([source, page ? onPage(page) : heading].filter(Boolean));
const spoken = (passage) => gettext("Source %(number)s: %(title)s", { number: passage.number, title: nameOf(passage) });

function chip(passage, open) {
  const button = make("button.cite", { type: "button", title: nameOf(passage), "aria-label": spoken(passage) }, passage.number);
  button.addEventListener("click", () => open(passage, passage.number, button));
  return button;
}

/** Return what stands in place of numbers: chips, and behind them those that name nothing; null if none names a passage. */
function cites(numbers, known, open) {
  const parts = numbers.split(/[,;] ?/);
  const named = parts.filter((number) => known.has(number));
  if (!named.length) return null;
  const others = parts.filter((number) => !known.has(number));
  return make("span.cites", {}, ...named.map((number) => chip(known.get(number), open)), others.length ? ` [${others.join(", ")}]` : "");
}

function textsOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    if (walker.currentNode.data.includes("[") && !walker.currentNode.parentElement.closest(SKIPPED)) texts.push(walker.currentNode);
  }
  return texts;
}

/** Put chips in place of the marks of a text. */
function replaceMarks(text, known, open) {
  const parts = [];
  let end = 0;
  for (const found of text.data.matchAll(MARK)) {
    const element = cites(found[1], known, open);
    if (!element) continue;
    const before = text.data.slice(end, found.index).replace(/ $/, "");
    parts.push(before, element);
    element.instead = text.data.slice(end + before.length, found.index + found[0].length); // the blank before it too
    end = found.index + found[0].length;
  }
  if (parts.length) text.replaceWith(...parts, text.data.slice(end));
}

/** Return the list of chips under an answer, and put chips in place of the numbers by which its elements name the passages.
 * `open(passage, number, button)` shows a passage. */
export function citeSources(passages, elements, open) {
  const known = new Map(passages.map((passage) => [passage.number, passage]));
  for (const element of elements) {
    for (const old of element.querySelectorAll(".cites")) {
      const parent = old.parentNode;
      old.replaceWith(old.instead);
      parent.normalize();
    }
    for (const text of textsOf(element)) replaceMarks(text, known, open);
  }
  const items = [...known.values()].map((passage) => {
    const button = make("button.source", { type: "button" }, make("span.number", {}, passage.number), make("span.name", { dir: "auto" }, nameOf(passage)));
    button.addEventListener("click", () => open(passage, passage.number, button));
    return make("li", {}, button);
  });
  return make("ol.sources", { "aria-label": gettext("Sources") }, ...items);
}

const EMPHASIS = /(\*{1,3}|`)(\S(?:[^\n]*?\S)?)\1/g;

/** Return a passage as elements: the title, where it is, and its text. */
export function passageShown({ source, heading, page, text }) {
  const where = [heading, page && onPage(page)].filter(Boolean).join(" · ");
  return [make("p.passage-title", { dir: "auto" }, source), make("p.where", { dir: "auto", hidden: !where }, where), make("p.passage-text", { dir: "auto" }, text.replace(EMPHASIS, "$2"))];
}
