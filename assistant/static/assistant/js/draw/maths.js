/* Formulas become MathML by Temml, which is loaded with the first formula, and with it this module. */

import temml from "../../vendor/temml/temml.js";

// Temml's time grows with the cells of a matrix, which few characters can ask for.
const MOST_CELLS = 2_000;
const OPTIONS = { throwOnError: true, trust: false, maxExpand: 100, maxSize: [20, 20] };
const REFERENCE = /\\(?:ref|eqref|label)\b/;
const FENCES = { p: ["(", ")"], b: ["[", "]"], v: ["|", "|"], B: ["\\{", "\\}"], V: ["\\|", "\\|"] };
const MATH = "http://www.w3.org/1998/Math/MathML";

/** Close what is open in a formula that is still being written. */
export function closed(tex) {
  let found = tex.replace(/\\[A-Za-z]*$/, "").replace(/[\^_&]$/, "");
  const open = [];
  found = found.replace(/\\begin\{([pbvBV])matrix\}((?:(?!\\end\{\1matrix\})[^])*)$/, (_, kind, rest) => {
    return `\\left${FENCES[kind][0]}\\begin{matrix}${rest}`;
  });
  for (const [part, name] of found.matchAll(/\\begin\{(\w+\*?)\}|\\end\{\w+\*?\}|\\left\b|\\right\b|\\[^]|[{}]/g)) {
    if (name) open.push(`\\end{${name}}`);
    else if (part === "\\left") open.push("\\right.");
    else if (part === "{") open.push("}");
    else if (part === "}" || part.startsWith("\\end") || part === "\\right") open.pop();
  }
  return found + open.reverse().join("");
}

/** Return the MathML of a formula; null if it is none, or too large. */
export function mathOf(tex, isDisplay) {
  const cells = tex.split("&").length * tex.split("\\\\").length;
  if (cells > MOST_CELLS || REFERENCE.test(tex)) return null;
  const holder = document.createElement("span");
  try {
    temml.render(tex, holder, { ...OPTIONS, displayMode: isDisplay });
  } catch {
    return null;
  }
  const isMath = [...holder.querySelectorAll("*")].every((element) => element.namespaceURI === MATH);
  return isMath ? holder.firstChild : null;
}
