/* Brings an element's children in line with what blocks.js returned, with the DOM's own functions and no HTML. */

import { drawFormula } from "../formula.js";

const PART_CHARACTERS = 2000;

/** Return the text cut at line ends, so that the browser lays out only the last part again. */
function parts(text) {
  const found = [];
  let from = 0;
  while (text.length - from > PART_CHARACTERS) {
    const end = text.indexOf("\n", from + PART_CHARACTERS);
    if (end < 0) break;
    found.push({ tag: "span", cls: "part", kids: [text.slice(from, end + 1)] });
    from = end + 1;
  }
  const rest = text.slice(from);
  return found.length ? [...found, { tag: "span", cls: "part", kids: [rest] }] : [rest];
}

/** Return the children of a node. Code has a head with its language. */
function kidsOf({ kids = [], cls, language, text }) {
  if (cls === "plain") return parts(text);
  if (cls !== "code") return kids;
  const head = { tag: "div", cls: "code-head", kids: [{ tag: "span", cls: "code-lang", kids: [language] }], keeps: true };
  return [head, { tag: "pre", kids: [{ tag: "code", kids: parts(text) }] }];
}

function fits(node, wanted) {
  if (typeof wanted === "string") return node.nodeType === Node.TEXT_NODE;
  return node.localName === wanted.tag && node.className === (wanted.cls ?? "");
}

function make(wanted) {
  if (typeof wanted === "string") return document.createTextNode("");
  const made = document.createElement(wanted.tag);
  if (wanted.cls) made.className = wanted.cls;
  if (wanted.dir) made.dir = wanted.dir;
  if (wanted.start) made.start = wanted.start;
  if (wanted.cls === "code") made.dataset.code = "";
  if (wanted.cls === "table" || wanted.tag === "pre") made.tabIndex = 0;
  return made;
}

function setText(node, text) {
  if (node.data === text) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}

/** Make `parent` show `kids`, keeping the nodes that fit. `decorate(head)` is called with the head of new code. */
export function show(parent, kids, decorate) {
  kids.forEach((wanted, index) => {
    let node = parent.childNodes[index];
    if (!node || !fits(node, wanted)) {
      const made = make(wanted);
      if (node) node.replaceWith(made);
      else parent.append(made);
      node = made;
    }
    if (typeof wanted === "string") {
      setText(node, wanted);
      return;
    }
    if (wanted.tex !== undefined) {
      drawFormula(node, wanted.tex, wanted.isUnfinished);
      return;
    }
    if (wanted.tag === "a" && wanted.href && node.getAttribute("href") !== wanted.href) {
      Object.assign(node, { href: wanted.href, title: wanted.href, target: "_blank", rel: "noopener noreferrer nofollow" });
    }
    const isNewHead = wanted.keeps && !node.firstChild;
    if (!wanted.keeps || isNewHead) show(node, kidsOf(wanted), decorate);
    else setText(node.firstChild.firstChild, wanted.kids[0].kids[0]);
    if (isNewHead) decorate(node);
  });
  while (parent.childNodes.length > kids.length) parent.lastChild.remove();
}
