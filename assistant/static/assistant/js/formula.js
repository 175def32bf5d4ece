/* Formulas become MathML by Temml, which is loaded with the first one, as is `draw/maths.js`. Browsers show MathML themselves, but stretch roots,
 * brackets and braces only in a font that tells them how, and many systems have none: one is loaded too. */

// The font of `math` in the style sheets. Added to the document, it reaches the widget's shadow too.
const FONT = new URL("../vendor/noto-sans-math/noto-sans-math.woff2", import.meta.url);
const FONT_PATIENCE = 3_000; // milliseconds until formulas are shown without it

let maths = null;
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
  // Temml by name too, so that it is not asked for a round trip later.
  loading ??= Promise.all([import("./draw/maths.js"), loadFont(), import("../vendor/temml/temml.js")]).then(
    ([module]) => {
      maths = module;
      for (const [element, known] of waiting) drawFormula(element, ...known);
      waiting.clear();
    },
    () => {
      for (const [element, [tex]] of waiting) element.textContent = tex; // its source can be read too
      waiting.clear();
    },
  );
}

/** Show `tex` in `element`. What is unfinished and makes no sense yet leaves what was shown before. */
export function drawFormula(element, tex, isUnfinished = false) {
  if (!maths) {
    waiting.set(element, [tex, isUnfinished]);
    load();
    return;
  }
  const known = isUnfinished ? `${tex}…` : tex;
  if (drawn.get(element) === known) return;
  const math = maths.mathOf(isUnfinished ? maths.closed(tex) : tex, element.classList.contains("display"));
  if (math) element.replaceChildren(math);
  else if (isUnfinished) return;
  else element.textContent = tex;
  drawn.set(element, known);
}

/** Show the formulas of the server's HTML, which are their source. */
export function drawFormulas(nodes) {
  for (const element of nodes.querySelectorAll(".formula")) drawFormula(element, element.textContent);
}
