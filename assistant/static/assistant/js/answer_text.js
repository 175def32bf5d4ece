/* A streamed answer, in the page and in the widget: closed Markdown blocks are the server's HTML, the open one is drawn. */

import { blocks, plain } from "./draw/blocks.js";
import { columnsOf, keepColumns, layColumns } from "./draw/columns.js";
import { show } from "./draw/nodes.js";
import { drawFormulas } from "./formula.js";
import { locale } from "./i18n.js";
import { touch } from "./shared.js";

// Milliseconds after which doubtful characters at the end are shown, though the next one may change what they mean.
const PATIENCE = 250;
// Milliseconds of drawing after which the open block is shown as plain text: only hostile text takes so long.
const LONGEST_DRAWING = 30;
const MOST_FREE = 4_000; // characters
const MOST_SPOKEN = 300; // characters

const SKIPPED = "button, .sr-only, annotation, .code-head, .cites";
const PARTS = "p, li, tr, pre, dt, dd";

/** The text of a block's first part that has any. */
function textOf(block) {
  const copy = block.cloneNode(true);
  for (const skipped of copy.querySelectorAll(SKIPPED)) skipped.remove();
  const part = [...copy.querySelectorAll(PARTS)].find((one) => one.textContent.trim()) ?? copy;
  const texts = part.matches("tr") ? [...part.cells].map((cell) => cell.textContent.trim()) : [part.textContent];
  return texts.join(", ").replace(/\s+/g, " ").trim();
}

function sentenceOf(text) {
  const [first] = new Intl.Segmenter(locale, { granularity: "sentence" }).segment(text);
  return first?.segment.slice(0, MOST_SPOKEN).trim() ?? "";
}

export class AnswerText {
  #closed;
  #open;
  #nodesOf;
  #decorate;
  #parts = [];
  #carriageReturn = "";
  #length = 0;
  #closedLength = 0;
  #blockCount = 0;
  #newBlocks = [];
  #last = { html: "", nodes: [] };
  #isStale = false;
  #isPatient = true;
  #isCostly = false;
  #heldFrom = -1;
  #timer = 0;

  /** `nodesOf(html)` returns the server's HTML as nodes, or null if the page forbids it: then all is drawn.
   * `decorate(head)` adds to the head of a code block. */
  constructor({ closed, open, nodesOf, decorate }) {
    this.#closed = closed;
    this.#open = open;
    this.#nodesOf = nodesOf;
    this.#decorate = decorate;
  }

  /** The text received so far, as Markdown. */
  get text() {
    if (this.#parts.length > 1) this.#parts = [this.#parts.join("")];
    return this.#parts[0] ?? "";
  }

  /** The first sentence of what is drawn, with a heading before it. */
  get firstSentence() {
    this.flush();
    const blocks = [...this.#closed.children, ...this.#open.children];
    const isHeading = (block) => /^H\d$/.test(block?.tagName);
    const first = blocks.find((block) => !isHeading(block) && textOf(block));
    const heading = first ? blocks[blocks.indexOf(first) - 1] : blocks[0];
    const spoken = [isHeading(heading) ? heading : null, first].filter(Boolean);
    return spoken.map((block) => sentenceOf(textOf(block))).join(". ");
  }

  append(delta) {
    let text = this.#carriageReturn + delta;
    this.#carriageReturn = text.endsWith("\r") ? "\r" : ""; // the "\n" after it may come with the next delta
    if (this.#carriageReturn) text = text.slice(0, -1);
    if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
    this.#parts.push(text);
    this.#length += text.length;
    this.#isPatient = true;
    this.#change();
  }

  /** Replace the text. If it begins with the current text, only the rest is added. */
  reset(text) {
    const whole = text.replace(/\r\n?/g, "\n");
    if (whole.startsWith(this.text)) {
      const rest = whole.slice(this.#length);
      if (rest) this.append(rest);
      return;
    }
    this.#parts = [whole];
    this.#length = whole.length;
    this.#closedLength = this.#blockCount = 0;
    this.#newBlocks = [];
    this.#last = { html: "", nodes: [] };
    this.#closed.replaceChildren();
    this.#change();
  }

  /** Add a rendered block, or replace the last one: that of an answer that was cut off comes again with its marks
   * closed. Ignores other repeated blocks. */
  close({ index, html, length }) {
    const isAgain = index === this.#blockCount - 1 && html !== this.#last.html;
    if (index !== this.#blockCount && !isAgain) return;
    const nodes = this.#nodesOf(html);
    if (!nodes) return;
    for (const head of nodes.querySelectorAll("[data-code] > .code-head")) this.#decorate(head);
    drawFormulas(nodes);
    const before = this.#last.nodes;
    this.#last = { html, nodes: [...nodes.childNodes] };
    if (isAgain) {
      before[0]?.before(nodes);
      for (const node of before) node.remove();
      return;
    }
    this.#blockCount += 1;
    this.#closedLength = Math.min(this.#length, this.#closedLength + length);
    this.#newBlocks.push(nodes);
    this.#change();
  }

  #change() {
    this.#isStale = true;
    touch(this);
  }

  flush() {
    if (!this.#isStale) return;
    this.#isStale = false;
    if (this.#newBlocks.length) {
      const columns = columnsOf(this.#open);
      const tables = this.#newBlocks.flatMap((nodes) => [...nodes.querySelectorAll("table")]);
      this.#closed.append(...this.#newBlocks);
      layColumns(tables, columns);
      this.#open.replaceChildren();
      this.#isCostly = false;
    }
    this.#newBlocks = [];
    const text = this.text.slice(this.#closedLength);
    const began = performance.now();
    const { kids, held } = this.#isCostly ? { kids: [plain(text)], held: 0 } : blocks(text, this.#isPatient);
    show(this.#open, kids, this.#decorate);
    keepColumns(this.#open);
    this.#isCostly ||= text.length > MOST_FREE && performance.now() - began > LONGEST_DRAWING;
    this.#wait(held ? this.#length - held : -1);
  }

  /** Show what is held back from this position on, unless something else is by then. */
  #wait(position) {
    if (position === this.#heldFrom) return;
    this.#heldFrom = position;
    clearTimeout(this.#timer);
    if (position < 0) return;
    this.#timer = setTimeout(() => {
      this.#isPatient = false;
      this.#change();
    }, PATIENCE);
  }
}
