/* Formulas and footnotes in text, by the rules of assistant/markdown/formulas.py and footnotes.py. */

const MOST_CHARACTERS = 2_000;
const CLOSERS = { $$: "$$", "\\(": "\\)", "\\[": "\\]" };
const OPENING = /^ {0,3}(\$\$|\\\[)/;
const DOLLAR = /(?<![A-Za-z0-9_$])\$(?![\s$])((?:[^$\\\n]|\\[^\n]){1,500})(?<!\s)\$(?![A-Za-z0-9_$])/y;
const UNFINISHED_DOLLAR = /(?<![A-Za-z0-9_$])\$(?![\s$])((?:[^$\\\n]|\\[^\n]?){0,500})\$?$/y;
// No number and no word of prose before a sign of TeX: neither a price nor a variable of a shell.
const SURELY_FORMULA = /^(?!\d)(?:(?!\p{L}{3})[^\\^_{}])*[\\^_{}]/u;
const FOOTNOTE = /\[\^(\d{1,3}|[A-Za-z][A-Za-z0-9]{2,29})\]/y;
const NOTE = /^ {0,3}\[\^(?:\d{1,3}|[A-Za-z][A-Za-z0-9]{2,29})\]:[ \t]+\S/;

const cls = (isDisplay) => (isDisplay ? "formula display" : "formula");

function matched(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Return what ends the formula that a line begins and does not end, or "". */
export function formulaCloser(line) {
  const found = OPENING.exec(line);
  const closer = found ? CLOSERS[found[1]] : "";
  return closer && !line.includes(closer, found[0].length) ? closer : "";
}

/** Return the number of the line after a formula that begins in line `at`, or 0. */
export function formulaEnd(lines, at, end, isOpen) {
  const closer = formulaCloser(lines[at]);
  if (!closer) return 0;
  let length = lines[at].length;
  for (let to = at + 1; to < end; to += 1) {
    length += lines[to].length + 1;
    if (!lines[to].trim() || length > MOST_CHARACTERS) return 0;
    if (lines[to].includes(closer)) return to + 1;
  }
  return isOpen ? end : 0;
}

/** Return the node of the formula at `at` and where it ends, or null. */
export function formula(text, at) {
  const opener = text.slice(at, at + 2);
  if (!CLOSERS[opener]) {
    const found = matched(DOLLAR, text, at);
    return found && { node: { tag: "span", cls: cls(false), tex: found[1].trim() }, end: at + found[0].length };
  }
  const end = text.indexOf(CLOSERS[opener], at + 2);
  const tex = end < 0 ? "" : text.slice(at + 2, end).trim();
  return tex && end - at - 2 <= MOST_CHARACTERS ? { node: { tag: "span", cls: cls(opener !== "\\("), tex }, end: end + 2 } : null;
}

/** Return the node of the formula that is written at the end of `text`, `isSure` unless it may be a price; or null. */
export function unfinishedFormula(text, at) {
  const opener = text.slice(at, at + 2);
  if (text.length - at > MOST_CHARACTERS) return null;
  if (CLOSERS[opener]) {
    const tex = text.slice(at + 2);
    return tex.includes(CLOSERS[opener]) ? null : { node: { tag: "span", cls: cls(opener !== "\\("), tex, isUnfinished: true }, isSure: true };
  }
  const found = matched(UNFINISHED_DOLLAR, text, at);
  if (!found && text.slice(at) !== "$") return null;
  const tex = found?.[1] ?? "";
  return { node: { tag: "span", cls: cls(false), tex, isUnfinished: true }, isSure: SURELY_FORMULA.test(tex) };
}

/** Return the node of the reference to a footnote at `at` and where it ends, or null. */
export function footnote(text, at) {
  const found = matched(FOOTNOTE, text, at);
  if (!found) return null;
  const end = at + found[0].length;
  return { node: { tag: "sup", kids: [found[1]] }, end: at === 0 && NOTE.test(text) ? end + 1 : end };
}

export const isNote = (line) => NOTE.test(line);
