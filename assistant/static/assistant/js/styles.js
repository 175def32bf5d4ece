/* Adds a style sheet of an optional app to the page, or to a widget's shadow tree: as a constructed sheet, to which no
 * page's policy on styles applies. */

import { make } from "./elements.js";

const links = new Map();
const sheets = new Map();

/** `href`: the absolute address of the sheet. */
export async function addStyles(root, href) {
  if (root === document) {
    if (!links.has(href)) links.set(href, document.head.appendChild(make("link", { rel: "stylesheet", href })));
    return;
  }
  if (!sheets.has(href)) sheets.set(href, fetch(href).then(async (answer) => new CSSStyleSheet().replace(await answer.text())));
  const added = await sheets.get(href);
  if (!root.adoptedStyleSheets.includes(added)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, added];
}
