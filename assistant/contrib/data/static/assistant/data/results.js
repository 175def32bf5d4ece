/* What the tools of this app returned in an answer: rows as cards or a table, and groups as a chart with its table. */

import { make } from "../js/elements.js";
import { gettext, locale, ngettext } from "../js/i18n.js";
import { copyText } from "../js/shared.js";
import { chart } from "./chart.js";
import { addStyles } from "../js/styles.js";

const MOST_CARDS = 3;
const MOST_DRAWN_CARDS = 6; // of the project's own template
const MEASURES = {
  count: gettext("Number"),
  sum: gettext("Sum"),
  average: gettext("Average"),
  minimum: gettext("Minimum"),
  maximum: gettext("Maximum"),
};

// As `cell` of csv_rows.py: spreadsheets take a pasted text that begins so for a formula.
const FORMULA = /^\s*[=+\-@\t\r|]/;
const isNumber = (value) => /^[+-]?\d+(\.\d+)?$/.test(String(value));

/** Return a value in the reader's language; times in the tenant's zone. */
export function shownValue(value, kind, zone) {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value === "boolean") return value ? gettext("Yes") : gettext("No");
  if (kind === "number" && isNumber(value)) {
    const decimals = String(value).split(".")[1]?.length ?? 0;
    return new Intl.NumberFormat(locale, { minimumFractionDigits: Math.min(decimals, 6), maximumFractionDigits: 6 }).format(value);
  }
  const moment = kind === "date" || kind === "datetime" ? new Date(kind === "date" ? `${value}T00:00:00Z` : value) : null;
  if (moment && !Number.isNaN(moment.getTime())) return moment.toLocaleString(locale, kind === "date" ? { dateStyle: "medium", timeZone: "UTC" } : { dateStyle: "medium", timeStyle: "short", timeZone: zone });
  return String(value);
}

function named(row) {
  return row.link ? make("a", { href: row.link, dir: "auto" }, row.label) : make("bdi", {}, row.label);
}

function card(row, columns, { zone, nodesOf }) {
  const drawn = row.html && nodesOf?.(row.html);
  if (drawn) return make("li.data-card", {}, drawn);
  const fields = columns.flatMap(({ title, kind, isMain }, index) => {
    const text = isMain ? shownValue(row.values[index], kind, zone) : "";
    return text && text !== row.label ? [make("div", {}, make("dt", {}, title), make("dd", { dir: "auto" }, text))] : [];
  });
  return make("li.data-card", {}, make("p.data-name", {}, named(row)), make("dl", {}, ...fields));
}

/** A table that sorts by its heads. `columns`: title and kind. `rows`: arrays of values; `first(index)` draws the first cell. */
function table(columns, rows, { zone, announce, first }) {
  let order = rows.map((_, index) => index);
  const body = make("tbody");
  const text = (value, { kind }) => shownValue(value, kind, zone);
  const draw = () => {
    body.replaceChildren(
      ...order.map((index) => make("tr", {}, ...rows[index].map((value, place) => {
        const isHead = place === 0 && first;
        const cell = make(isHead ? "th" : "td", { class: columns[place].kind === "number" ? "data-number" : "", ...(isHead ? { scope: "row" } : {}) });
        cell.append(isHead ? first(index) : make("bdi", {}, text(value, columns[place])));
        return cell;
      }))),
    );
  };
  const heads = columns.map(({ title, kind }, place) => {
    const head = make("th", { scope: "col", class: kind === "number" ? "data-number" : "", "aria-sort": "none" });
    const sort = () => {
      const isUp = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      order = order.toSorted((one, other) => compare(rows[one][place], rows[other][place], kind) * (isUp ? 1 : -1));
      draw();
      announce(isUp ? gettext("Sorted by %(column)s, ascending", { column: title }) : gettext("Sorted by %(column)s, descending", { column: title }));
    };
    head.append(make("button", { type: "button", onclick: sort }, make("bdi", {}, title)));
    return head;
  });
  draw();
  const harmless = (shown, { kind }) => (kind !== "number" && FORMULA.test(shown) && !isNumber(shown) ? `'${shown}` : shown);
  const lines = () => [columns.map(({ title }) => title), ...order.map((index) => rows[index].map((value, place) => harmless(text(value, columns[place]), columns[place])))];
  const plain = () => lines().map((line) => line.map((one) => one.replace(/[\t\n]+/g, " ")).join("\t")).join("\n");
  return { element: make("div.data-table", { tabIndex: 0, role: "region", "aria-label": gettext("Table") }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body)), plain };
}

function compare(one, other, kind) {
  const isEmpty = (value) => value === null || value === undefined || value === "";
  if (isEmpty(one) || isEmpty(other)) return Number(isEmpty(one)) - Number(isEmpty(other));
  return kind === "number" ? Number(one) - Number(other) : String(one).localeCompare(String(other), locale, { numeric: true });
}

function copyButton(plain, announce) {
  const button = make("button.data-button", { type: "button" }, gettext("Copy"));
  button.onclick = async () => {
    await copyText(plain());
    button.textContent = gettext("Copied");
    announce(gettext("Copied"));
    setTimeout(() => (button.textContent = gettext("Copy")), 1600);
  };
  return button;
}

function csvButton(address, title, note, { load, announce }) {
  const button = make("button.data-button", { type: "button" }, gettext("CSV of all rows"));
  const say = (text) => {
    note.textContent = text;
    announce(text);
  };
  button.onclick = async () => {
    button.disabled = true;
    try {
      const answer = await load(address);
      if (!answer.ok) {
        say((await answer.json().catch(() => ({}))).message ?? gettext("The rows could not be loaded."));
        return;
      }
      const [count, all] = (answer.headers.get("Assistant-Rows") ?? "").split("/").map(Number);
      const url = URL.createObjectURL(await answer.blob());
      make("a", { href: url, download: `${title}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      say(count < all ? gettext("The first %(count)s of %(all)s rows were saved.", { count, all }) : ngettext("%(count)s row was saved.", "%(count)s rows were saved.", count));
    } catch {
      say(gettext("The rows could not be loaded."));
    } finally {
      button.disabled = false;
    }
  };
  return button;
}

function rowsShown(result, given) {
  const { rows, columns, title } = result;
  const mostCards = rows.every(({ html }) => html) ? MOST_DRAWN_CARDS : MOST_CARDS;
  if (rows.length <= mostCards && !result.more) return [make("ul.data-cards", { "aria-label": title }, ...rows.map((row) => card(row, columns, given)))];
  const heads = [{ title, kind: "text" }, ...columns.filter(({ kind }) => kind !== "key")];
  const places = columns.flatMap(({ kind }, place) => (kind === "key" ? [] : [place]));
  const cells = rows.map((row) => [row.label, ...places.map((place) => row.values[place])]);
  const { element, plain } = table(heads, cells, { ...given, first: (index) => named(rows[index]) });
  const note = make("span.data-note", {}, result.more ? ngettext("The first %(count)s row; there are more.", "The first %(count)s rows; there are more.", rows.length) : "");
  const csv = result.csv && given.load ? [csvButton(result.csv, title, note, given)] : [];
  return [element, make("div.data-actions", {}, copyButton(plain, given.announce), ...csv, note)];
}

function figuresShown(result, given) {
  const measure = result.of ? `${MEASURES[result.measure]}: ${result.of}` : MEASURES[result.measure];
  const columns = [...result.by.map((title) => ({ title, kind: "text" })), { title: measure, kind: "number" }];
  if (result.measure !== "count") columns.push({ title: MEASURES.count, kind: "number" });
  const cells = result.groups.map(({ names, value, count }) => [...names.map((name) => shownValue(name, "text", given.zone)), value, ...(result.measure === "count" ? [] : [count])]);
  const { element, plain } = table(columns, cells, given);
  const note = make("span.data-note", {}, result.more ? gettext("Only the first groups are shown.") : "");
  const points = result.groups.map(({ names, value }) => ({ name: shownValue(names[0], "text", given.zone) || gettext("None"), value: Number(value), text: shownValue(value, "number") }));
  const drawn = result.by.length === 1 && points.length > 1 && points.every(({ value }) => Number.isFinite(value));
  const charts = drawn ? [chart(points, { title: `${result.title} · ${measure}`, isLine: result.isOverTime })] : [];
  return [...charts, element, make("div.data-actions", {}, copyButton(plain, given.announce), note)];
}

/** Show the results below a turn's answer: of each call once, though several answers of a run have them. */
export async function show({ turn, details, announce = () => {}, nodesOf, load }) {
  await addStyles(turn.getRootNode(), new URL("./results.css", import.meta.url).href);
  turn.querySelector(":scope > .data-results")?.remove();
  const known = new Set();
  const parts = [];
  for (const { value } of details) {
    for (const result of value.results) {
      if (known.has(result.callId)) continue;
      known.add(result.callId);
      const given = { zone: value.zone, announce, nodesOf, load };
      const content = result.type === "rows" ? rowsShown(result, given) : figuresShown(result, given);
      parts.push(make("section.data-result", { "aria-label": result.title, "data-call": result.callId }, ...content));
    }
  }
  const place = make("div.data-results", {}, ...parts);
  const items = turn.querySelector(":scope > .items") ?? turn.lastElementChild;
  if (parts.length) items.after(place);
}
