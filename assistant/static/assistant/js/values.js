/* Shows arguments and results of tools: an object as a list, rows as a table, anything else as text. */

import { gettext } from "./i18n.js";

const MAX_ROWS = 50;
const MAX_TEXT = 20_000;

const isPlain = (value) => value === null || typeof value !== "object";
const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Return the value of a JSON text, or the text itself if it is not JSON. */
export function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

function inItsDirection(made) {
  made.dir = "auto";
  return made;
}

/** Return a value as text, on one line if it is short. */
export const scalar = (value) => (isPlain(value) ? (value === null || value === undefined ? "–" : value === true ? gettext("yes") : value === false ? gettext("no") : String(value)) : JSON.stringify(value));

/** Return a name in code as a label: `customer_id` is "Customer id". */
export function label(name) {
  const words = name.replace(/_/g, " ").replace(/\s+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function fields(record) {
  const list = element("dl");
  for (const [name, value] of Object.entries(record)) list.append(element("dt", label(name)), inItsDirection(element("dd", scalar(value))));
  return list;
}

function rows(records) {
  const names = Object.keys(records[0]);
  const head = element("tr", ...names.map((name) => element("th", label(name))));
  const body = records.slice(0, MAX_ROWS).map((record) => element("tr", ...names.map((name) => inItsDirection(element("td", scalar(record[name]))))));
  const wrapper = element("div", element("table", element("thead", head), element("tbody", ...body)));
  wrapper.className = "table";
  wrapper.tabIndex = 0;
  return wrapper;
}

const isTable = (value) =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((record) => isRecord(record) && Object.values(record).every(isPlain)) &&
  value.every((record) => Object.keys(record).join() === Object.keys(value[0]).join());

/** Return an element that shows a value. */
export function shown(value) {
  if (isRecord(value) && Object.keys(value).length && Object.values(value).every(isPlain)) return fields(value);
  if (isTable(value)) return rows(value);
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const block = element("pre", text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n…` : text);
  block.tabIndex = 0;
  block.dir = typeof value === "string" ? "auto" : "ltr";
  return block;
}

/** Whether a result lists nothing: an empty list, or an object with empty lists and nothing else to say. */
export function isNothing(value) {
  if (Array.isArray(value)) return !value.length;
  if (!isRecord(value)) return false;
  const parts = Object.values(value);
  return parts.some(Array.isArray) && parts.every((part) => (Array.isArray(part) ? !part.length : !part));
}

/** Return a value shortened to one line, for a card's summary. */
export function brief(value) {
  if (!isRecord(value)) return "";
  const isList = (part) => Array.isArray(part) && part.every(isPlain);
  const parts = Object.values(value).filter((part) => part !== null && part !== "");
  const text = parts.map((part) => (isPlain(part) ? String(part) : isList(part) ? part.join(", ") : "…")).join(", ");
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
