/* Marks the values of an answer: where each came from on hover, focus or tap, and dotted what came from nowhere. */

import { make } from "../js/elements.js";
import { gettext, listed, ngettext } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";

const SKIPPED = "pre, math, button, .cites, .receipt, .katex";
const NUMBER = /(\d+(?:\.\d+)?)/;
const BEHIND_CITATION = /^(?:[\s.,;:!?)]|$)/; // no blank stands before these
const LETTER = /[\p{L}\p{N}]/u;
const SENTENCE = /(?:[^.!?\n]|[.!?](?!\s|$))+(?:[.!?]|\n|$)/g;

/** Return the texts of an answer that are prose, joined, with where each begins. */
function proseOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let text = "";
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    const isAddress = parent.closest("a") && /^(?:https?|ftp):/.test(parent.closest("a").textContent);
    if (parent.closest(SKIPPED) || isAddress) {
      text += "\u0000"; // so that no value is found across it
      continue;
    }
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  return { nodes, text };
}

/** Return where a text stands as a whole word for the n-th time; -1 if it does not. */
function placeOf(text, wanted, occurrence) {
  let count = 0;
  for (let place = text.indexOf(wanted); place >= 0; place = text.indexOf(wanted, place + 1)) {
    const [before, after] = [text[place - 1] ?? "", text[place + wanted.length] ?? ""];
    const isPart = (LETTER.test(before) && LETTER.test(wanted[0])) || (LETTER.test(after) && LETTER.test(wanted.at(-1)));
    if (isPart) continue;
    if (count === occurrence) return place;
    count += 1;
  }
  return -1;
}

function rangeOf({ nodes }, start, end) {
  const first = nodes.findLast((one) => one.start <= start);
  const last = nodes.findLast((one) => one.start < end);
  if (!first || first !== last || end - first.start > first.node.length) return null;
  const range = document.createRange();
  range.setStart(first.node, start - first.start);
  range.setEnd(first.node, end - first.start);
  return range;
}

const sourceText = {
  tool: ({ tool, title = tool, path }) => [gettext("From a tool"), `${title}${path ? ` · ${path.split(".").filter((part) => !/^\d+$/.test(part)).join(" › ")}` : ""}`],
  passage: ({ title }) => [gettext("From a document"), title],
  message: () => [gettext("From your message"), ""],
  question: () => [gettext("From the question"), ""],
  page: () => [gettext("From the page"), ""],
  instructions: () => [gettext("From the assistant's instructions"), ""],
  clock: () => [gettext("From the clock"), ""],
  withheld: () => [gettext("From a source that you may not see now"), ""],
};

const derivedText = {
  sum: () => gettext("A sum of these:"),
  count: () => gettext("A count of these:"),
  difference: () => gettext("A difference of these:"),
  product: () => gettext("A product of these:"),
  average: () => gettext("An average of these:"),
  share: () => gettext("A share of these:"),
  time: () => gettext("The time between these:"),
  span: () => gettext("Follows from these:"),
  quotient: () => gettext("Follows from these:"),
  weekday: () => gettext("The day of the week of this:"),
};

const reasonText = {
  not_found: () => gettext("Not found in what was looked up"),
  not_offered: () => gettext("No passage with this number was given"),
  other_row: () => gettext("Not found there: it belongs to another row of what was looked up"),
};

/** Return a piece of Markdown without its signs of emphasis. */
const plain = (piece) => piece.replace(/\*{2,3}|`/g, "");

/** Return the sentence of a passage in which a value stands, with the value lit. */
function lit(text, start, end) {
  const sentence = [...text.matchAll(SENTENCE)].find((one) => one.index <= start && start < one.index + one[0].length);
  const from = sentence?.index ?? Math.max(0, start - 80);
  const to = sentence ? from + sentence[0].length : end + 80;
  return make("q.receipt-passage", { dir: "auto" }, plain(text.slice(from, start)), make("mark", {}, text.slice(start, end)), plain(text.slice(end, to)));
}

function sourceShown(source, { passages, open, address }) {
  const [title, detail] = (sourceText[source.kind] ?? sourceText.withheld)(source);
  const parts = [make("span.receipt-kind", {}, title)];
  if (detail) parts.push(make("span.receipt-name", { dir: "auto" }, detail));
  const passage = source.kind === "passage" && passages[source.id];
  if (passage) parts.push(lit(passage.text, source.start, source.end));
  if (source.url) parts.push(make("a.receipt-link", { href: address(source.url), target: "_blank", rel: "noopener noreferrer" }, gettext("Open")));
  if (source.kind === "tool" && open(source.callId)) parts.push(make("button.receipt-link", { type: "button", onclick: open(source.callId) }, gettext("Show the call")));
  return make("li", {}, ...parts);
}

class Card {
  element = make("div.receipt-card", { id: "receipt-card", role: "status", hidden: true });
  #mark = null;
  #timer = 0;

  constructor() {
    this.element.addEventListener("pointerenter", () => clearTimeout(this.#timer));
    this.element.addEventListener("pointerleave", () => this.hideSoon());
    this.element.addEventListener("focusin", () => clearTimeout(this.#timer));
    this.element.addEventListener("focusout", () => this.hideSoon());
    // Before the widget, which closes its panel: one thing at a time.
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.#escape(event), true);
    document.addEventListener("pointerdown", (event) => event.composedPath()[0].closest?.(".receipt, .receipt-card") || this.hide());
  }

  show(mark, content) {
    clearTimeout(this.#timer);
    if (this.#mark === mark && !this.element.hidden) return;
    this.#mark?.removeAttribute("aria-describedby");
    this.#mark = mark;
    this.element.replaceChildren(...content);
    mark.closest(".turn").append(this.element); // it has the page's colours there, and goes with the turn
    mark.setAttribute("aria-describedby", this.element.id);
    this.element.hidden = false;
    const place = mark.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const start = getComputedStyle(this.element).direction === "rtl" ? place.right - width : place.left;
    const left = Math.max(8, Math.min(start, innerWidth - width - 8));
    const isBelow = place.bottom + height + 8 < innerHeight || place.top < height + 8;
    this.element.style.left = `${left}px`;
    this.element.style.top = `${isBelow ? place.bottom + 6 : place.top - height - 6}px`;
  }

  /** Move the focus to what can be opened in the card. Escape leads back to the mark. */
  enter() {
    this.element.querySelector("a, button, summary")?.focus();
  }

  #escape(event) {
    if (this.element.hidden) return;
    event.stopPropagation();
    if (this.element.contains(this.element.getRootNode().activeElement)) this.#mark.focus();
    else this.hide();
  }

  hideSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hide(), 200);
  }

  hide() {
    clearTimeout(this.#timer);
    this.element.hidden = true;
    this.#mark?.removeAttribute("aria-describedby");
    this.#mark = null;
  }
}

let card = null;

/** Return what a card says. `found` has the passages, open(callId), which returns what shows a call, and address(url), a URL of a result with its origin. */
function contentOf(mark, found) {
  if (mark.reason) return [make("p", {}, (reasonText[mark.reason] ?? reasonText.not_found)())];
  const items = mark.sources.map((source) => sourceShown(source, found));
  const [first, ...others] = items;
  const content = mark.derived ? [make("p", {}, (derivedText[mark.derived] ?? derivedText.sum)())] : [];
  if (!first) return [make("p", {}, mark.derived === "equation" ? gettext("Computed in the answer") : gettext("Counted in the answer"))];
  if (mark.derived) return [...content, make("ul", {}, ...items)];
  content.push(make("ul", {}, first));
  if (others.length) {
    const count = others.length;
    content.push(make("details", {}, make("summary", {}, ngettext("%(count)s more source", "%(count)s more sources", count)), make("ul", {}, ...others)));
  }
  return content;
}

/** Return a citation in pieces, of which those are hidden that name no passage. A sign goes with the number behind it. */
function pieces(citation, numbers) {
  const hidden = (text) => make("span", { "aria-hidden": "true" }, make("span", {}, text));
  const parts = citation.split(NUMBER);
  const first = parts.findIndex((part, place) => place % 2 && !numbers.includes(part));
  if (first < 0) return [hidden(citation)];
  return parts.map((part, place) => {
    if (place === 0 || place === parts.length - 1) return part;
    const isShown = place % 2 ? !numbers.includes(part) : place > first && !numbers.includes(parts[place + 1]);
    return isShown ? part : hidden(part);
  });
}

/** Mark a place. A number that was not offered is shown no longer, and its place is kept, so that no line moves. */
function wrap(range, mark, content) {
  const isDropped = mark.reason === "not_offered";
  const span = make(mark.reason ? `span.receipt.unsupported${isDropped ? ".dropped" : ""}` : "span.receipt", { tabIndex: -1, role: "button" });
  range.surroundContents(span);
  if (isDropped) {
    const shown = pieces(span.textContent, mark.numbers);
    if (shown.length === 1) span.setAttribute("aria-label", reasonText.not_offered());
    span.replaceChildren(...shown);
  }
  const show = () => card.show(span, content());
  span.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show());
  span.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && card.hideSoon());
  span.addEventListener("focus", show);
  span.addEventListener("blur", () => card.hideSoon());
  span.addEventListener("click", show);
  span.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    show();
    card.enter();
  });
  return span;
}

/** Let one mark of an answer be reached with Tab, and the others with the arrows. */
function roving(spans) {
  if (spans.length) spans[0].tabIndex = 0;
  for (const [place, span] of spans.entries()) {
    span.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = spans[place + (step ?? 0)];
      if (!step || !next) return;
      event.preventDefault();
      span.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }
}

/** Open the card of a call, and the group that it is in, and go there. */
function reveal(call) {
  card.hide();
  for (let place = call.closest("details"); place; place = place.parentElement.closest("details")) place.open = true;
  call.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  call.querySelector("summary").focus({ preventScroll: true });
}

function unmark(element) {
  for (const old of element.querySelectorAll(".receipt")) {
    const parent = old.parentNode;
    old.replaceWith(old.textContent);
    parent.normalize();
  }
}

/** Return the rests of citations of which other numbers have chips: `[3, 9]` is a chip and ` [9]`. */
function restsOf(element, marks) {
  const found = [];
  for (const cited of element.querySelectorAll(".cites")) {
    const mark = marks.find(({ reason, text }) => reason === "not_offered" && text === cited.instead?.trim());
    const rest = cited.lastChild;
    if (!mark || rest.nodeType !== Node.TEXT_NODE) continue;
    const range = document.createRange();
    range.selectNodeContents(rest);
    found.push({ mark, range });
  }
  return found;
}

function noteOf({ actions, notChecked }) {
  if (notChecked) return make("p.receipt-note.unchecked", { role: "note" }, gettext("It was not checked where this answer's values come from."));
  const unsupported = actions.filter(({ tool }) => !tool);
  if (!unsupported.length) return null;
  const text = ngettext(
    "The answer says that something was done (%(what)s), but no tool did it.",
    "The answer says that things were done (%(what)s), but no tool did them.",
    unsupported.length,
    { what: listed([...new Set(unsupported.map(({ text: verb }) => verb))]) },
  );
  return make("p.receipt-note", { role: "note" }, text);
}

/** Return the Markdown of an answer without the numbers that are shown no longer, for who copies it. */
export function shownText(markdown, { marks }) {
  const dropped = marks.filter(({ reason }) => reason === "not_offered").sort((one, other) => other.start - one.start);
  const characters = [...markdown];
  let text = markdown;
  for (const { start, text: citation, numbers } of dropped) {
    // Places count characters, and the lines of the stored text may end in two, those here in one: it is there or before.
    const place = text.lastIndexOf(citation, characters.slice(0, start).join("").length);
    if (place < 0) continue;
    const kept = citation.split(NUMBER).filter((part, at) => at % 2 && !numbers.includes(part));
    const after = text.slice(place + citation.length);
    const before = kept.length || !BEHIND_CITATION.test(after) ? text.slice(0, place) : text.slice(0, place).replace(/ $/, "");
    text = before + (kept.length ? `[${kept.join(", ")}]` : "") + after;
  }
  return text;
}

/** Mark the answers of a turn: `details` has the ids of messages with their receipts, `cardOf(callId)` the element of a tool call,
 * `address(url)` a URL of the assistant's site with its origin. */
export async function show({ turn, details, answerOf, cardOf, address }) {
  card ??= new Card();
  await addStyles(turn.getRootNode(), new URL("./receipts.css", import.meta.url).href);
  if (turn.contains(card.element)) card.hide();
  for (const old of turn.querySelectorAll(":scope > .items > .receipt-note")) old.remove();
  for (const { value } of details) {
    const element = answerOf(value.messageId)?.element;
    if (!element) continue;
    unmark(element);
    const open = (callId) => {
      const call = cardOf(callId);
      return call && (() => reveal(call));
    };
    const prose = proseOf(element);
    const found = value.marks
      .map((mark) => ({ mark, start: placeOf(prose.text, mark.text, mark.occurrence) }))
      .filter(({ start }) => start >= 0)
      .sort((one, other) => other.start - one.start);
    const spans = [];
    for (const { mark, start } of found) {
      const range = rangeOf(prose, start, start + mark.text.length);
      if (range) spans.unshift(wrap(range, mark, () => contentOf(mark, { passages: value.passages ?? {}, open, address })));
    }
    for (const { mark, range } of restsOf(element, value.marks)) spans.push(wrap(range, mark, () => contentOf(mark, { passages: {}, open, address })));
    spans.sort((one, other) => (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
    roving(spans);
    const note = noteOf(value);
    if (note) element.after(note);
  }
}
