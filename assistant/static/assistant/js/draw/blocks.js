/* Markdown's blocks, drawn while they are being written. See inline.js for what is returned. */

import { formulaEnd, isNote } from "./formulas.js";
import { MOST_HELD, inline } from "./inline.js";

// The server shows longer blocks that are not code as plain text.
const MOST_CHARACTERS = 16_000;
// Deeper lists and quotes are shown as text.
const MOST_DEEP = 20;
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])( +(?=\S)| *$)/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const DELIMITER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const DEFINITION = /^ {0,3}\[[^\]\n]{1,200}\]:/;
// Beginnings of lines that only their rest explains.
const MARKS = /^[\s\-+*_=#>|~`:]*$|^\s*(?:[-+*]|\d{1,9}[.)])\s+(?:\[[ xX]?\]?\s*)?$/;
const UNFINISHED_NOTE = /^ {0,3}\[\^[A-Za-z0-9]*\]?:?[ \t]*$/;
const NUMBER = /^\s*\d{1,9}[.)]?\s*$/;
const DETAILS = /^ {0,3}<details>/i;
const FOLDED = /^ *<details>\s*(?:<summary>([^]*?)(?:<\/summary>|$))?([^]*?)(?:<\/details>[^]*)?$/i;
const TASK = /^\[([ xX])\] /;

const indentation = (line) => /^ */.exec(line)[0].length;
const isBlank = (line) => !line.trim();
const startsBlock = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line);

function interrupts(line) {
  const item = ITEM.exec(line);
  return startsBlock(line) || (item && line.length > item[0].length && (!/\d/.test(item[2]) || /^1[.)]$/.test(item[2])));
}

function cells(line) {
  const text = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return text.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Return a text as it is. */
export const plain = (text) => ({ tag: "p", cls: "plain", dir: "auto", text });

function code(language, text) {
  return { tag: "div", cls: "code", dir: "ltr", language: language.slice(0, 30) || "text", text };
}

class Reader {
  found = [];
  isLoose = false;
  held = 0;

  /** `isOpen`: the last line is the end of the text so far; `isPartial`: the last line has no end yet. */
  constructor(lines, state, depth = 0) {
    this.lines = lines;
    this.state = state;
    this.depth = depth;
    const last = lines.at(-1) ?? "";
    const isUnknown = MARKS.test(last) || UNFINISHED_NOTE.test(last) || (state.isPatient && NUMBER.test(last));
    this.end = state.isOpen && state.isPartial && isUnknown ? lines.length - 1 : lines.length;
    // Something that shows nothing yet is no less the end.
    this.held = this.end < lines.length && NUMBER.test(last) ? last.length : 0;
  }

  /** Return the state for the lines up to `to`. */
  inner(to) {
    const isOpen = this.state.isOpen && to >= this.end;
    return { ...this.state, isOpen, isPartial: isOpen && this.state.isPartial && this.end === this.lines.length };
  }

  inline(text, to) {
    const { kids, held } = inline(text, this.inner(to));
    this.held = Math.max(this.held, held);
    return kids;
  }

  read() {
    let at = 0;
    let wasBlank = false;
    while (at < this.end) {
      if (isBlank(this.lines[at])) {
        wasBlank = true;
        at += 1;
        continue;
      }
      if (wasBlank && this.found.length) this.isLoose = true;
      wasBlank = false;
      at = this.block(at);
    }
    return this;
  }

  block(at) {
    const line = this.lines[at];
    if (this.depth > MOST_DEEP) return this.paragraph(at);
    if (indentation(line) >= 4) return this.indented(at);
    const fence = FENCE.exec(line);
    if (fence) return this.fence(at, fence);
    const heading = HEADING.exec(line);
    if (heading) {
      this.found.push({ tag: `h${Math.min(heading[1].length + 2, 6)}`, kids: this.inline(heading[2] ?? "", at + 1) });
      return at + 1;
    }
    if (RULE.test(line)) {
      this.found.push({ tag: "hr" });
      return at + 1;
    }
    if (QUOTE.test(line)) return this.quote(at);
    if (ITEM.test(line)) return this.list(at);
    const to = this.formulaEnd(at);
    if (to) {
      this.found.push({ tag: "p", kids: this.inline(this.lines.slice(at, to).join("\n"), to) });
      return to;
    }
    if (!this.depth && DETAILS.test(line)) return this.details(at);
    return this.table(at) || this.paragraph(at);
  }

  formulaEnd(at) {
    return formulaEnd(this.lines, at, this.end, this.state.isOpen);
  }

  /** What is folded away, as it stays when its text is complete. */
  details(at) {
    let to = at + 1;
    while (to < this.end && !/<\/details>/i.test(this.lines[to - 1])) to += 1;
    const [, summary, inner] = FOLDED.exec(this.lines.slice(at, to).join("\n"));
    this.nest({ tag: "details" }, inner.split("\n"), to);
    this.found.at(-1).kids.unshift({ tag: "summary", kids: this.inline((summary ?? (/^\s*[^\s<]/.test(inner) ? "…" : "")).trim(), inner ? -1 : to) });
    return to;
  }

  indented(at) {
    let to = at;
    while (to < this.end && (isBlank(this.lines[to]) || indentation(this.lines[to]) >= 4)) to += 1;
    const text = this.lines.slice(at, to).map((line) => line.slice(4)).join("\n").trimEnd();
    this.found.push(code("", text));
    return to;
  }

  fence(at, [, marks, info]) {
    const isUnfinished = this.state.isOpen && this.state.isPartial;
    if (isUnfinished && at + 1 === this.lines.length) return at + 1; // the language is not complete
    const closing = new RegExp(`^ {0,3}\\${marks[0]}{${marks.length},}[ \\t]*$`);
    const indent = indentation(this.lines[at]);
    let to = at + 1;
    while (to < this.end && !closing.test(this.lines[to])) to += 1;
    const lines = this.lines.slice(at + 1, to);
    const last = this.lines.at(-1);
    // A line that was left out above is code, unless it can become the end of the fence.
    if (to === this.end && this.end < this.lines.length && !/^ {0,3}[`~]+$/.test(last)) lines.push(last);
    if (to === this.end && lines.length && isUnfinished && /^ {0,3}[`~]+$/.test(lines.at(-1))) lines.pop();
    const text = lines.map((line) => line.slice(Math.min(indent, indentation(line)))).join("\n");
    this.found.push(code(info.trim().split(/\s/)[0], text));
    return to + 1;
  }

  quote(at) {
    const lines = [];
    let to = at;
    while (to < this.lines.length) {
      const line = this.lines[to];
      const isLazy = to > at && !isBlank(line) && !isBlank(lines.at(-1)) && !startsBlock(line) && !ITEM.test(line);
      if (!QUOTE.test(line) && !(isLazy && to < this.end)) break;
      lines.push(line.replace(QUOTE, ""));
      to += 1;
    }
    this.nest({ tag: "blockquote" }, lines, to);
    return to;
  }

  /** Add `node` with the blocks of `lines`, which end before line `to`. */
  nest(node, lines, to) {
    const isOpen = this.state.isOpen && to >= this.end;
    const isPartial = isOpen && this.state.isPartial && to >= this.lines.length;
    const inner = new Reader(lines, { ...this.state, isOpen, isPartial }, this.depth + 1).read();
    this.held = Math.max(this.held, inner.held);
    this.found.push({ ...node, kids: inner.found });
    return inner;
  }

  list(at) {
    const [, , first] = ITEM.exec(this.lines[at]);
    const kind = first.at(-1);
    const isOrdered = first.length > 1;
    const before = this.found;
    this.found = [];
    let isLoose = false;
    let to = at;
    while (to < this.end) {
      const item = ITEM.exec(this.lines[to]);
      if (!item || item[2].at(-1) !== kind || (RULE.test(this.lines[to]) && to > at)) break;
      const start = to;
      to = this.item(start, item);
      isLoose ||= this.wasLoose || (to < this.end && isBlank(this.lines[to - 1]) && ITEM.exec(this.lines[to])?.[2].at(-1) === kind);
    }
    for (const item of this.found) if (!isLoose) item.kids = item.kids.flatMap((kid) => (kid.tag === "p" && !kid.cls ? kid.kids : [kid]));
    const list = { tag: isOrdered ? "ol" : "ul", kids: this.found };
    if (isOrdered && parseInt(first, 10) !== 1) list.start = parseInt(first, 10);
    this.found = [...before, list];
    return to;
  }

  item(at, [whole, indent, marker, gap]) {
    const isEmpty = whole.length === this.lines[at].length;
    const width = indent.length + marker.length + (isEmpty || gap.length > 4 ? 1 : gap.length);
    const lines = [this.lines[at].slice(width)];
    let to = at + 1;
    for (; to < this.lines.length; to += 1) {
      const line = this.lines[to];
      const isAfterBlank = isBlank(this.lines[to - 1]);
      if (isBlank(line) || indentation(line) >= width) lines.push(line.slice(Math.min(width, line.length)));
      else if (isAfterBlank || to >= this.end || ITEM.test(line) || startsBlock(line)) break;
      else lines.push(line.trimStart());
    }
    while (lines.length > 1 && isBlank(lines.at(-1)) && to < this.lines.length) lines.pop();
    const inner = this.nest({ tag: "li" }, lines, to);
    this.wasLoose = inner.isLoose;
    const made = this.found.at(-1);
    const [start] = made.kids;
    const task = typeof start?.kids?.[0] === "string" && TASK.exec(start.kids[0]);
    if (task) {
      start.kids[0] = (task[1] === " " ? "☐ " : "☑ ") + start.kids[0].slice(task[0].length);
      made.cls = "task";
    }
    return to;
  }

  table(at) {
    const line = this.lines[at];
    if (!line.includes("|")) return 0;
    const names = cells(line);
    const rule = this.lines[at + 1];
    const isHead = at + 1 < this.end && DELIMITER.test(rule) && cells(rule).length === names.length;
    const isLast = this.state.isOpen && at + 1 >= this.end;
    if (!isHead && !(isLast && line.trimStart().startsWith("|"))) return 0;
    const alignments = isHead ? cells(rule).map((cell) => (/^:.*:$/.test(cell) ? "center" : /:$/.test(cell) ? "right" : "")) : [];
    let to = at + 2;
    while (isHead && to < this.end && !isBlank(this.lines[to]) && !startsBlock(this.lines[to])) to += 1;
    const row = (tag, number) => {
      const texts = cells(this.lines[number]);
      const isLastRow = number + 1 >= this.end && (tag === "td" || !isHead);
      const all = tag === "td" ? names.map((_, column) => texts[column] ?? "") : texts;
      const kids = all.map((text, column) => {
        const isEnd = isLastRow && column + 1 >= texts.length;
        return { tag, cls: alignments[column] ?? "", kids: this.inline(text, isEnd ? this.end : -1) };
      });
      return { tag: "tr", kids };
    };
    const table = { tag: "table", kids: [{ tag: "thead", kids: [row("th", at)] }] };
    const body = [];
    for (let number = at + 2; isHead && number < to; number += 1) body.push(row("td", number));
    if (body.length) table.kids.push({ tag: "tbody", kids: body });
    this.found.push({ tag: "div", cls: "table", kids: [table] });
    return Math.max(to, at + 1);
  }

  paragraph(at) {
    let to = at + 1;
    let level = 0;
    for (; to < this.end && !isBlank(this.lines[to]); to += 1) {
      const underline = UNDERLINE.exec(this.lines[to]);
      if (underline) level = underline[1][0] === "=" ? 3 : 4;
      if (underline || interrupts(this.lines[to]) || isNote(this.lines[to]) || this.formulaEnd(to)) break;
    }
    const text = this.lines.slice(at, to).join("\n");
    const isLast = this.state.isOpen && to >= this.end;
    const pipe = text.indexOf("|");
    if (isLast && to === at + 1 && pipe >= 0 && this.state.isPatient && text.length - pipe <= MOST_HELD) {
      this.held = Math.max(this.held, text.length - pipe); // it may be the head of a table
      if (pipe) this.found.push({ tag: "p", kids: this.inline(text.slice(0, pipe).trim(), -1) });
      return to;
    }
    if (isNote(text)) this.found.push({ tag: "p", cls: "footnote", kids: this.inline(text, to) });
    else if (DEFINITION.test(text)) this.found.push({ tag: "p", kids: [text] });
    else this.found.push({ tag: level ? `h${level}` : "p", kids: this.inline(text, to) });
    return level ? to + 1 : to;
  }
}

/** Return `{ kids, held }` for the Markdown written so far. If not `isPatient`, what is doubtful is shown as it looks. */
export function blocks(text, isPatient = true) {
  const isCode = /^\s*(?:```|~~~)/.test(text);
  if (text.length > MOST_CHARACTERS && !isCode) return { kids: [plain(text)], held: 0 };
  const lines = text.replaceAll("\t", "    ").split("\n");
  const isPartial = lines.at(-1) !== "";
  if (!isPartial) lines.pop();
  const { found, held } = new Reader(lines, { isOpen: true, isPartial, isPatient }).read();
  return { kids: found.map((node) => ({ dir: "auto", ...node })), held };
}
