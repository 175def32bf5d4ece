/* Emphasis by CommonMark's rules, except that CJK characters do not hinder it, as in assistant/markdown/emphasis.py. */

// Beyond these, marks are shown as they are: text of models does not get there, and hostile text must cost no time.
const MOST_MARKS = 400;
const MOST_OPEN = 12;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const SPACE = /[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/;
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uffef]/u;

const charBefore = (text, at) => (at && /[\udc00-\udfff]/.test(text[at - 1]) ? text.slice(at - 2, at) : text[at - 1]) ?? " ";
const charAt = (text, at) => (at < text.length ? String.fromCodePoint(text.codePointAt(at)) : " ");

/** Return whether a run of `mark` can open and close emphasis, by CommonMark's rule, which CJK characters do not hinder. */
export function flanking(text, start, end, mark) {
  const before = charBefore(text, start);
  const after = charAt(text, end);
  const isSpace = [SPACE.test(before), SPACE.test(after)];
  const isPoint = [PUNCTUATION.test(before), PUNCTUATION.test(after)];
  const isCjk = CJK.test(before) || CJK.test(after);
  const left = !isSpace[1] && (!isPoint[1] || isSpace[0] || isPoint[0] || isCjk);
  const right = !isSpace[0] && (!isPoint[0] || isSpace[1] || isPoint[1] || isCjk);
  if (mark !== "_") return { open: left, close: right };
  return { open: left && (!right || isPoint[0]), close: right && (!left || isPoint[1]) };
}

/** Return what a run of marks that closes nothing shows. */
export const literal = (item) => (item.mark ? item.mark.repeat(item.count) : item.bracket ?? item);

export function merged(items) {
  const kids = [];
  for (const item of items.map(literal)) {
    if (typeof item !== "string") kids.push(item);
    else if (typeof kids.at(-1) === "string") kids[kids.length - 1] += item;
    else if (item) kids.push(item);
  }
  return kids;
}

const emphasis = (mark, used, kids) => ({ tag: mark === "~" ? "s" : used === 2 ? "strong" : "em", kids });

function canPair(opener, closer) {
  if (opener.mark !== closer.mark || !opener.open || !opener.count) return false;
  if (closer.mark === "~") return opener.count > 1 && closer.count > 1;
  const isOdd = (opener.close || closer.open) && (opener.length + closer.length) % 3 === 0;
  return !isOdd || (opener.length % 3 === 0 && closer.length % 3 === 0);
}

/** Replace the pairs of marks in `items` by elements. */
export function pair(items) {
  if (items.filter((item) => item.mark).length > MOST_MARKS) return;
  for (let at = 0; at < items.length; at += 1) {
    const closer = items[at];
    if (!closer.mark || !closer.close || !closer.count) continue;
    let from = at - 1;
    while (from >= 0 && !canPair(items[from], closer)) from -= 1;
    if (from < 0) continue;
    const opener = items[from];
    const used = opener.count > 1 && closer.count > 1 ? 2 : 1;
    const inner = merged(items.splice(from + 1, at - from - 1));
    items.splice(from + 1, 0, emphasis(closer.mark, used, inner));
    opener.count -= used;
    closer.count -= used;
    at = from + 1;
  }
}

/** Close the marks that are open at the end, as if their ends had come. */
export function closeOpen(items) {
  const isOpener = ({ mark, open, count }) => mark && open && count > (mark === "~" ? 1 : 0);
  if (items.filter(isOpener).length > MOST_OPEN) return;
  for (let at = items.length - 1; at >= 0; at -= 1) {
    if (!isOpener(items[at])) continue;
    const { mark, count } = items[at];
    let kids = merged(items.splice(at + 1));
    if (count % 2) kids = [emphasis(mark, 1, kids)];
    if (count > 1) kids = [emphasis(mark, 2, kids)];
    items.splice(at, 1, ...kids);
  }
}

/** Return whether the character before `at` is part of a word of a script with spaces. */
export function isWithinWord(text, at) {
  const before = charBefore(text, at);
  return /[\p{L}\p{N}]/u.test(before) && !CJK.test(before);
}
