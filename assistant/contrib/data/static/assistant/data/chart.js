/* A bar or line chart as SVG without inline styles: axes, and the value of a point on hover, focus and arrow keys. */

import { locale } from "../js/i18n.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 220;
const TOP = 26; // for the value that is shown
const BOTTOM = 30; // for the names
const TICKS = 4;
const LETTER = 7; // pixels of one of the names
const WIDEST_BAR = 56;

function draw(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Return round numbers from at most 0 to the largest value, or from the smallest; whole ones for whole values. */
function ticksOf(values) {
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const rough = (high - low || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const isWhole = values.every(Number.isInteger);
  const steps = [1, 2, 2.5, 5, 10].map((one) => one * power).filter((one) => one >= rough * 0.999);
  const step = (isWhole && steps.find(Number.isInteger)) || (isWhole ? 1 : steps[0]);
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/** `points`: name, value, and text, the value in words. Returns the element, which is drawn again at another width. */
export function chart(points, { title, isLine }) {
  const figure = document.createElement("figure");
  figure.className = "data-chart";
  const caption = document.createElement("figcaption");
  caption.dir = "auto";
  caption.textContent = title;
  const place = document.createElement("div");
  figure.append(caption, place);
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (Math.abs(contentRect.width - width) < 2) return;
    width = contentRect.width;
    place.replaceChildren(drawn(points, title, isLine, width));
  }).observe(place);
  return figure;
}

function drawn(points, title, isLine, width) {
  const ticks = ticksOf(points.map(({ value }) => value));
  const short = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 3 });
  const labels = ticks.map((tick) => short.format(tick));
  const left = Math.max(...labels.map(({ length }) => length)) * LETTER + 12;
  const [low, high] = [ticks[0], ticks.at(-1)];
  const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const each = Math.max(1, width - left - 6) / points.length;
  const x = (index) => left + each * (index + 0.5);
  const svg = draw("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": title });
  ticks.forEach((tick, index) => {
    svg.append(draw("line", { class: tick === 0 ? "axis" : "grid", x1: left, x2: width, y1: y(tick), y2: y(tick) }));
    svg.append(draw("text", { class: "tick", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, labels[index]));
  });
  const longest = Math.max(...points.map(({ name }) => name.length));
  // Of times on a line some tell the others; each bar has a name of its own, cut if need be.
  const every = Math.ceil((Math.min(longest, isLine ? 14 : 6) * LETTER + 10) / each);
  const most = Math.max(3, Math.floor((each * every) / LETTER) - 1);
  points.forEach(({ name }, index) => {
    const shown = name.length > most ? `${name.slice(0, most - 1)}…` : name;
    if (index % every === 0) svg.append(draw("text", { class: "tick", x: x(index), y: HEIGHT - 9, "text-anchor": "middle" }, shown));
  });
  if (isLine) svg.append(draw("polyline", { class: "line", points: points.map(({ value }, index) => `${x(index)},${y(value)}`).join(" ") }));
  const bar = Math.min(WIDEST_BAR, Math.max(2, each * 0.7));
  const marks = points.map(({ name, value, text }, index) => {
    const [top, bottom] = [y(Math.max(0, value)), y(Math.min(0, value))];
    const shape = isLine
      ? draw("circle", { class: "dot", cx: x(index), cy: y(value), r: 3.5 })
      : draw("rect", { class: "bar", x: x(index) - bar / 2, y: top, width: bar, height: Math.max(1, bottom - top), rx: 3 });
    const area = draw("rect", { class: "area", x: x(index) - each / 2, y: TOP, width: each, height: HEIGHT - TOP - BOTTOM });
    return draw("g", { class: "point", role: "img", tabindex: index ? -1 : 0, "aria-label": `${name}: ${text}` }, area, shape);
  });
  const value = draw("text", { class: "value", y: 15, "text-anchor": "middle", "aria-hidden": "true" });
  const tell = (index) => {
    const { name, text } = points[index];
    value.textContent = `${name}: ${text}`;
    const half = (value.textContent.length * LETTER) / 2 + 4;
    value.setAttribute("x", Math.min(Math.max(x(index), half), Math.max(half, width - half)));
    marks.forEach((mark, place) => mark.classList.toggle("told", place === index));
  };
  const hide = () => {
    value.textContent = "";
    for (const mark of marks) mark.classList.remove("told");
  };
  marks.forEach((mark, index) => {
    mark.addEventListener("pointerenter", () => tell(index));
    mark.addEventListener("focus", () => tell(index));
    mark.addEventListener("blur", hide);
    mark.addEventListener("keydown", (event) => {
      const place = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: marks.length - 1 }[event.key];
      const next = marks[place];
      if (!next) return;
      event.preventDefault();
      mark.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    });
  });
  svg.addEventListener("pointerleave", hide);
  svg.append(...marks, value);
  return svg;
}
