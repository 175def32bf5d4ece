/* Formulas become MathML by Temml, which is loaded with the first formula. Browsers show MathML themselves, but stretch roots,
 * brackets and braces only in a font that tells them how, and many systems have none: one is loaded too. */

// Temml's time grows with the cells of a matrix, which few characters can ask for.
const MOST_CELLS = 2_000;
const OPTIONS = { throwOnError: true, trust: false, maxExpand: 100, maxSize: [20, 20] };
const REFERENCE = /\\(?:ref|eqref|label)\b/;
const FENCES = { p: ["(", ")"], b: ["[", "]"], v: ["|", "|"], B: ["\\{", "\\}"], V: ["\\|", "\\|"] };
const MATH = "http://www.w3.org/1998/Math/MathML";

// The font of `math` in the style sheets. Added to the document, it reaches the widget's shadow too.
const FONT = new URL("../vendor/noto-sans-math/noto-sans-math.woff2", import.meta.url);
const FONT_PATIENCE = 3_000; // milliseconds until formulas are shown without it

let temml = null;
let loading = null;
const waiting = new Map();
const drawn = new WeakMap();

/** Load the font; where it cannot be had, the browser has to do with its own. */
function loadFont() {
  const font = new FontFace("Assistant Math", `url("${FONT}")`);
  document.fonts.add(font);
  const isLoaded = font.load().catch(() => {});
  return Promise.race([isLoaded, new Promise((done) => setTimeout(done, FONT_PATIENCE))]);
}

function load() {
  loading ??= Promise.all([import("../vendor/temml/temml.js"), loadFont()]).then(
    ([module]) => {
      temml = module.default;
      for (const [element, known] of waiting) drawFormula(element, ...known);
      waiting.clear();
    },
    () => {
      for (const [element, [tex]] of waiting) element.textContent = tex; // its source can be read too
      waiting.clear();
    },
  );
}

/** Close what is open in a formula that is still being written. */
function closed(tex) {
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

function mathOf(tex, isDisplay) {
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

/** Show `tex` in `element`. What is unfinished and makes no sense yet leaves what was shown before. */
export function drawFormula(element, tex, isUnfinished = false) {
  if (!temml) {
    waiting.set(element, [tex, isUnfinished]);
    load();
    return;
  }
  const known = isUnfinished ? `${tex}…` : tex;
  if (drawn.get(element) === known) return;
  const math = mathOf(isUnfinished ? closed(tex) : tex, element.classList.contains("display"));
  if (math) element.replaceChildren(math);
  else if (isUnfinished) return;
  else element.textContent = tex;
  drawn.set(element, known);
}

/** Show the formulas of the server's HTML, which are their source. */
export function drawFormulas(nodes) {
  for (const element of nodes.querySelectorAll(".formula")) drawFormula(element, element.textContent);
}
