/* Texts, numbers and times in the reader's language, for the site's pages and the widget. See docs/languages.md. */

const LANGUAGES = ["ar", "de", "es", "fr", "ja", "pt", "zh-hans"]; // besides English, which needs no catalogue

/** Return the language of ours that a tag such as "pt-BR" asks for, or undefined. */
function ours(tag) {
  const lower = tag.toLowerCase();
  if (/^zh(?!-(hant|tw|hk|mo))\b/.test(lower)) return "zh-hans";
  const [first] = lower.split("-");
  return first === "en" ? first : LANGUAGES.find((language) => language === first);
}

/** Return the first language of ours that the element, the script, the page or the browser asks for. */
function wanted() {
  const marked = document.querySelectorAll("tenant-assistant[lang], script[src*='/assistant/widget'][lang], html[lang]");
  const asked = [...marked].reverse().map(({ lang }) => lang); // the page itself is the first in the document
  return [...asked, ...navigator.languages].map(ours).find(Boolean) ?? "en";
}

// Our own pages say it at their root, and in a host's base template around the chat.
const page = document.querySelector(".tenant-assistant[data-catalogue]");
const isOurPage = Boolean(page);
const { lang, dataset } = page ?? document.documentElement;

/** The code of the language, as in our catalogues. */
export const language = isOurPage ? (ours(lang) ?? "en") : wanted();

/** What numbers and times are written by: the language, with the browser's country if it names one. */
export const locale = navigator.languages.find((tag) => ours(tag) === language) ?? language;

export const direction = language === "ar" ? "rtl" : "ltr";

let messages = {};
let plural = (count) => Number(count !== 1);

const address = isOurPage ? dataset.catalogue : language === "en" ? "" : new URL(`../languages/${language}.js`, import.meta.url);
if (address) {
  try {
    ({ default: messages, plural } = await import(address));
  } catch {
    /* without its catalogue everything is in English */
  }
}

function filled(text, values) {
  return text.replace(/%\((\w+)\)s/g, (_, name) => (typeof values[name] === "number" ? values[name].toLocaleString(locale) : values[name]));
}

/** Return a text in the reader's language, with `values` in place of its `%(name)s`. */
export function gettext(text, values) {
  const found = messages[text] ?? text;
  return values ? filled(found, values) : found;
}

/** Return names one after another, divided as the reader's language divides them. */
export const listed = (names) => names.reduce((found, name) => (found ? gettext("%(names)s, %(name)s", { names: found, name }) : name), "");

/** Return the form of a text for a number, which also stands in place of `%(count)s`. */
export function ngettext(one, other, count, values) {
  const forms = messages[one];
  const found = forms ? forms[Number(plural(count))] : count === 1 ? one : other;
  return filled(found, { count, ...values });
}

/** Return a moment as a day and a time. */
export const dayAndTime = (moment) => moment.toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });

/** Return a moment as a time, with its day unless that is today. */
export const dayOrTime = (moment) =>
  moment.toDateString() === new Date().toDateString() ? moment.toLocaleString(locale, { timeStyle: "short" }) : dayAndTime(moment);
