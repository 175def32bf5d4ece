/* Markdown within a line, drawn while it is being written: emphasis, code and links show before they are closed.

   Follows the server's renderer (assistant/markdown): what is drawn is a prefix of the final text. Nodes are strings, or
   objects { tag, cls, href, kids }. */

import { closeOpen, flanking, isWithinWord, literal, merged, pair } from "./emphasis.js";
import { footnote, formula, unfinishedFormula } from "./formulas.js";

/** Characters that can wait at the end until it is known what they are. */
export const MOST_HELD = 40;
const ASCII_PUNCTUATION = /[!-/:-@[-`{-~]/;
const DESTINATION = /^\(\s*(?:<([^<>\n]*)>|((?:[^\s()<>]|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)/;
const UNFINISHED_DESTINATION = /^\(\s*(?:<[^<>\n]*|[^\s<>]*)(?:\s+(?:["'(][^"')]*["')]?\s*)?)?$/;
const AUTOLINK = /^<([a-z][a-z0-9+.-]{1,31}:[^<>\s]*|[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+)>/i;
const URL = /https?:\/\/[^\s<>"'`|\\^{}[\]\ufffd]+/gi;
const UNSAFE = /^(?:vbscript|javascript|file|data):/i;
const ENTITY = /^&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/i;
const ENTITIES = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", trade: "™", hellip: "…", mdash: "—",
  ndash: "–", rarr: "→", larr: "←", times: "×", deg: "°", euro: "€", middot: "·", bull: "•", laquo: "«", raquo: "»",
};

function host(href) {
  if (/^mailto:/i.test(href)) return href.slice(7).split("?")[0];
  try {
    return new globalThis.URL(href).host;
  } catch {
    return "";
  }
}

const textOf = (kids) => kids.map((kid) => (typeof kid === "string" ? kid : textOf(kid.kids ?? []))).join("");

function link(href, kids) {
  if (href && !/^(?:https?:\/\/.|mailto:)/i.test(href)) return kids;
  const made = { tag: "a", href, kids };
  if (!href) return [made];
  const shown = textOf(kids).trim().replace(/^(?:https?:\/\/|mailto:)/i, "").toLowerCase();
  const name = host(href);
  if (shown === name || ["/", "?", "#"].some((mark) => shown.startsWith(name + mark))) return [made];
  return [made, " ", { tag: "span", cls: "host", kids: [`(${name})`] }];
}

/** Turn the bare addresses in the texts outside of links into links. */
function linkified(kids) {
  return kids.flatMap((kid) => {
    if (typeof kid !== "string") return kid.tag === "a" || kid.tag === "code" || !kid.kids ? kid : { ...kid, kids: linkified(kid.kids) };
    if (!kid.includes("://")) return kid;
    const found = [];
    let end = 0;
    for (const match of kid.matchAll(URL)) {
      const address = match[0].replace(/[.,:;!?*_~'")]+$/, "");
      found.push(kid.slice(end, match.index), { tag: "a", href: address, kids: [address] });
      end = match.index + address.length;
    }
    return [...found, kid.slice(end)].filter((part) => part !== "");
  });
}

class Line {
  items = [];
  brackets = [];
  held = 0;

  constructor(text, { isOpen, isPatient }) {
    this.text = text;
    this.isOpen = isOpen;
    this.isPatient = isPatient;
  }

  /** Leave out the rest, from `at`, until more is known. */
  hold(at) {
    this.held = this.text.length - at;
    return this.text.length;
  }

  canHold(at) {
    return this.isPatient && this.text.length - at <= MOST_HELD;
  }

  read() {
    const { text } = this;
    const next = /[\\`*_~![\]<&\n$]/g;
    let at = 0;
    while (at < text.length) {
      next.lastIndex = at;
      const found = next.exec(text);
      const end = found ? found.index : text.length;
      if (end > at) this.items.push(text.slice(at, end));
      at = found ? this.special(end) : end;
    }
    return this.finish();
  }

  special(at) {
    const mark = this.text[at];
    if (mark === "$" || (mark === "\\" && /[([]/.test(this.text[at + 1]))) return this.formula(at);
    if (mark === "\\") return this.escape(at);
    if (mark === "`") return this.code(at);
    if (mark === "*" || mark === "_" || mark === "~") return this.marks(at, mark);
    if (mark === "[" || mark === "!") return this.bracket(at);
    if (mark === "]") return this.closeBracket(at);
    if (mark === "<") return this.angle(at);
    if (mark === "&") return this.entity(at);
    return this.lineBreak(at);
  }

  escape(at) {
    const next = this.text[at + 1];
    if (next === undefined && this.isOpen) return this.hold(at);
    if (next === "\n") {
      this.items.push({ tag: "br" });
      return at + 2;
    }
    const isEscape = next !== undefined && ASCII_PUNCTUATION.test(next);
    this.items.push(isEscape ? next : "\\");
    return at + (isEscape ? 2 : 1);
  }

  formula(at) {
    const found = formula(this.text, at);
    const unfinished = !found && this.isOpen ? unfinishedFormula(this.text, at) : null;
    if (found) this.items.push(found.node);
    else if (unfinished?.isSure) this.items.push(unfinished.node);
    else if (unfinished && this.canHold(at)) return this.hold(at);
    else if (this.text[at] === "\\") return this.escape(at);
    else this.items.push("$");
    return found ? found.end : unfinished?.isSure ? this.text.length : at + 1;
  }

  code(at) {
    const { text } = this;
    const run = /`+/y;
    run.lastIndex = at;
    const [marks] = run.exec(text);
    const start = at + marks.length;
    let end = -1;
    for (const other of text.slice(start).matchAll(/`+/g)) {
      if (other[0].length === marks.length) {
        end = start + other.index;
        break;
      }
    }
    if (end < 0 && !this.isOpen) {
      this.items.push(marks);
      return start;
    }
    if (start >= text.length) return this.hold(at);
    const source = end < 0 ? text.slice(start).replace(/[`\s]+$/, "") : text.slice(start, end);
    const content = source.replaceAll("\n", " ");
    const isPadded = /^ .*[^ ].* $/.test(content) || (content.length > 2 && content[0] === " " && content.at(-1) === " " && content.trim());
    const kids = [isPadded ? content.slice(1, -1) : end < 0 ? content.replace(/^ /, "") : content];
    this.items.push({ tag: "code", dir: "ltr", kids });
    return end < 0 ? text.length : end + marks.length;
  }

  marks(at, mark) {
    let end = at;
    while (this.text[end] === mark) end += 1;
    if (end === this.text.length && this.isOpen) return this.hold(at);
    const count = end - at;
    if (mark === "~" && count < 2) {
      this.items.push("~");
      return end;
    }
    this.items.push({ mark, count, length: count, at, isDoubtful: count === 1 && isWithinWord(this.text, at), ...flanking(this.text, at, end, mark) });
    return end;
  }

  bracket(at) {
    const note = footnote(this.text, at);
    if (note) {
      this.items.push(note.node);
      return note.end;
    }
    const isImage = this.text[at] === "!";
    const start = at + (isImage ? 2 : 1);
    if (isImage && this.text[at + 1] !== "[") {
      if (this.isOpen && at + 1 === this.text.length) return this.hold(at);
      this.items.push("!");
      return at + 1;
    }
    this.brackets.push({ at, index: this.items.length });
    this.items.push({ bracket: isImage ? "![" : "[" });
    return start;
  }

  closeBracket(at) {
    const opened = this.brackets.pop();
    const rest = this.text.slice(at + 1);
    if (!opened || (rest && rest[0] !== "(") || (!rest && !this.isOpen)) {
      this.items.push("]");
      return at + 1;
    }
    const found = DESTINATION.exec(rest);
    const href = found ? found[1] ?? found[2] : "";
    const isUnfinished = !found && this.isOpen && (!rest || UNFINISHED_DESTINATION.test(rest));
    if ((!found && !isUnfinished) || UNSAFE.test(href)) {
      this.items.push("]");
      return at + 1;
    }
    if (!rest && this.canHold(opened.at)) {
      this.brackets.push(opened); // a link, or only brackets: the next character tells
      return this.text.length;
    }
    const inner = this.items.splice(opened.index).slice(1);
    pair(inner);
    this.items.push(...link(href, merged(inner)));
    return found ? at + 1 + found[0].length : this.text.length;
  }

  angle(at) {
    const rest = this.text.slice(at);
    const line = /^<br\s*\/?>/i.exec(rest);
    const found = AUTOLINK.exec(rest);
    if (line || (found && !UNSAFE.test(found[1]))) {
      if (line) this.items.push({ tag: "br" });
      else this.items.push(...link(found[1].includes(":") ? found[1] : `mailto:${found[1]}`, [found[1]]));
      return at + (line ?? found)[0].length;
    }
    const key = /^<kbd>([^<>\n]{1,30})<\/kbd>/i.exec(rest);
    if (key) {
      this.items.push({ tag: "kbd", kids: [key[1]] });
      return at + key[0].length;
    }
    if (this.isOpen && /^<(?:https?:[^\s<>]*|[a-z/]?[^\s<>]*|br\s*\/?|kbd>[^<>]*(?:<[/kbd]*)?)$/i.test(rest) && this.canHold(at)) return this.hold(at);
    const isAddress = this.isOpen && /^<https?:[^\s<>]*$/i.test(rest);
    this.items.push(isAddress ? rest.slice(1) : "<");
    return isAddress ? this.text.length : at + 1;
  }

  entity(at) {
    const rest = this.text.slice(at, at + 12);
    const found = ENTITY.exec(rest);
    const code = found && (found[1] ? Number(found[1]) : found[2] ? parseInt(found[2], 16) : 0);
    const shown = found && (found[3] ? ENTITIES[found[3]] : code > 0 && code < 0x110000 ? String.fromCodePoint(code) : "\ufffd");
    if (!found && this.isOpen && /^&#?\w{0,8}$/.test(rest) && at + rest.length === this.text.length) return this.hold(at);
    this.items.push(shown ?? "&");
    return at + (shown === undefined || shown === null ? 1 : found[0].length);
  }

  lineBreak(at) {
    const last = this.items.length - 1;
    const isHard = typeof this.items[last] === "string" && / {2,}$/.test(this.items[last]);
    if (typeof this.items[last] === "string") this.items[last] = this.items[last].trimEnd();
    this.items.push(isHard ? { tag: "br" } : "\n");
    let end = at + 1;
    while (this.text[end] === " ") end += 1;
    return end;
  }

  finish() {
    if (this.isOpen) {
      const opened = this.brackets.find(({ at }) => this.canHold(at));
      if (opened) this.cut(opened.index, opened.at);
      else if (this.brackets.length) this.closeLink(this.brackets[0]);
    }
    pair(this.items);
    if (this.isOpen) {
      const doubtful = this.items.findIndex((item) => item.isDoubtful && item.open && item.count && this.canHold(item.at));
      if (doubtful >= 0) this.cut(doubtful, this.items[doubtful].at);
      this.showDoubtful();
      closeOpen(this.items);
    }
    return { kids: linkified(merged(this.items)), held: this.held };
  }

  /** Show doubtful marks as they are: in `2*3`, nothing is emphasised. */
  showDoubtful() {
    this.items.forEach((item, index) => {
      if (item.isDoubtful) this.items[index] = literal(item);
    });
  }

  cut(index, at) {
    this.items.length = index;
    this.held = Math.max(this.held, this.text.length - at);
  }

  closeLink(opened) {
    const inner = this.items.splice(opened.index).slice(1);
    pair(inner);
    closeOpen(inner);
    this.items.push(...link("", merged(inner)));
  }
}

/** Return `{ kids, held }`: the nodes of a text, and how many characters of its end are not shown yet. */
export function inline(text, state) {
  return new Line(text.trim() === text ? text : state.isOpen ? text.trimStart() : text.trim(), state).read();
}
