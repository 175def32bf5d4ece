/* The passages that an answer stands on: numbered chips in its text and under it, which open them.
 * Loaded with the first answer that stands on some. */

import { make } from "./elements.js";
import { gettext } from "./i18n.js";

const SHORTEST_TITLE = 4; // characters: a shorter title is found in too many words
const SKIPPED = "pre, button, math, .cites, .host";
const BLOCKS = "p, li, td, h1, h2, h3, h4, h5, h6, dd, blockquote";
const PAGE = /^[^\d.!?\n]{1,20}?(\d+)/; // behind a title: ", page 3"
const WORD = /[\p{L}\p{N}]{4,}|\p{N}{2,}/gu;

const onPage = (page) => gettext("page %(page)s", { page: String(page) });
const nameOf = ({ source, page, heading }) => [source, page ? onPage(page) : heading].filter(Boolean).join(", ");
const spoken = (number, passage) => gettext("Source %(number)s: %(title)s", { number, title: nameOf(passage) });
const wordsOf = (text) => new Set(text.toLowerCase().match(WORD));

function chip(number, passage, open) {
  const button = make("button.cite", { type: "button", title: nameOf(passage), "aria-label": spoken(number, passage) }, String(number));
  button.addEventListener("click", () => open(passage, number, button));
  return button;
}

/** Return the places in the text of these elements where a title is: the node, the offset behind it, and the page named there. */
function placesOf(title, elements) {
  const wanted = title.toLocaleLowerCase();
  const places = [];
  for (const element of elements) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const text = node.data.toLocaleLowerCase();
      if (!text.includes(wanted) || node.parentElement.closest(SKIPPED)) continue;
      const within = node.parentElement.closest("a, code"); // no button within a link
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
        const end = at + title.length;
        const then = within?.nextSibling;
        const page = PAGE.exec(within ? then?.data ?? "" : node.data.slice(end));
        const place = { node, end, within, page: page ? Number(page[1]) : null };
        if (page) Object.assign(place, within ? { node: then, end: page[0].length, within: null } : { end: end + page[0].length });
        places.push(place);
      }
    }
  }
  return places;
}

/** Return where in an answer a passage belongs: where its title and page are named, else its title; undefined if neither. */
function namedPlace(passage, places) {
  return places.find(({ page }) => page && page === passage.page) ?? places.find(({ page }) => !page) ?? places[0];
}

/** Return the block of an answer that shares most words with a passage, if it shares enough. */
function likelyBlock({ text }, elements) {
  const wanted = wordsOf(text);
  let best = null;
  let most = 2; // words
  for (const block of elements.flatMap((element) => [...element.querySelectorAll(BLOCKS)])) {
    if (block.querySelector("p, li, td, pre") || block.closest("pre")) continue;
    const shared = [...wordsOf(block.textContent)].filter((word) => wanted.has(word)).length;
    if (shared > most) [best, most] = [block, shared];
  }
  return best;
}

/** Put chips at their places, the last place of a text first, since each is cut there. */
function insert(chips) {
  const byPlace = Map.groupBy?.(chips, ({ place }) => place) ?? grouped(chips);
  const cuts = [...byPlace].sort(([one], [other]) => (other.end ?? 0) - (one.end ?? 0));
  for (const [place, here] of cuts) {
    const cites = make("span.cites", {}, ...here.map(({ button }) => button));
    if (!place.node) place.block.append(cites);
    else if (place.within) place.within.after(cites);
    else if (place.end >= place.node.length) place.node.after(cites);
    else place.node.splitText(place.end).before(cites);
  }
}

function grouped(chips) {
  const groups = new Map();
  for (const one of chips) groups.set(one.place, [...(groups.get(one.place) ?? []), one]);
  return groups;
}

/** Return the list of chips under an answer, and put chips where its elements name or use the passages.
 * `open(passage, number, button)` shows a passage. */
export function citeSources(passages, elements, open) {
  const byId = new Map(passages.map((passage) => [passage.source_id, passage]));
  const all = [...byId.values()];
  for (const element of elements) {
    for (const old of element.querySelectorAll(".cites")) {
      const parent = old.parentNode;
      old.remove();
      parent.normalize();
    }
  }
  const titles = new Map();
  const blocks = new Map();
  const chips = all.flatMap((passage, index) => {
    const title = passage.source.trim();
    if (title.length < SHORTEST_TITLE) titles.set(title, []);
    if (!titles.has(title)) titles.set(title, placesOf(title, elements));
    let place = namedPlace(passage, titles.get(title));
    const block = place ? null : likelyBlock(passage, elements);
    if (block && !blocks.has(block)) blocks.set(block, { block });
    place ??= blocks.get(block);
    return place ? [{ place, button: chip(index + 1, passage, open) }] : [];
  });
  insert(chips);
  const items = all.map((passage, index) => {
    const button = make("button.source", { type: "button" }, make("span.number", { "aria-hidden": "true" }, String(index + 1)), make("span.name", { dir: "auto" }, nameOf(passage)));
    button.setAttribute("aria-label", spoken(index + 1, passage));
    button.addEventListener("click", () => open(passage, index + 1, button));
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
