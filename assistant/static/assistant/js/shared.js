/* Shared by the chat page and the widget: ids, times in the reader's time zone, and one DOM update per animation frame. */

import { dayOrTime, gettext, listed, locale, ngettext } from "./i18n.js";
import { label } from "./values.js";

export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is missing over plain HTTP
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Return a sentence with its UTC times, such as 2026-11-23T00:00:00Z, in the reader's time zone and format. */
export function inLocalTime(sentence) {
  return sentence.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (time) => dayOrTime(new Date(time)));
}

/** Return lines on the tools of a conversation that operators have switched off or on. `before` and `now` are lists of `thread.tools`.
 * Each tool has its own, but for several that were not called here: they are told in one line. */
export function switchedLines(before, now) {
  const known = new Map(before.map((one) => [one.name, one]));
  const isOff = new Set(now.map(({ name }) => name));
  const title = (one) => one.title ?? label(one.name);
  const off = now.filter(({ name, reason, until }) => known.get(name)?.reason !== reason || known.get(name)?.until !== until);
  const on = before.filter(({ name }) => !isOff.has(name));
  const lines = (tools, one, many) => {
    const others = tools.filter(({ isCalled }) => isCalled === false);
    if (others.length < 2) return tools.map(one);
    return [...tools.filter((tool) => !others.includes(tool)).map(one), many(listed(others.map(title)))];
  };
  const switchedOff = (one) =>
    one.until
      ? gettext("“%(tool)s” is switched off until %(until)s: %(reason)s", { tool: title(one), until: dayOrTime(new Date(one.until)), reason: one.reason })
      : gettext("“%(tool)s” is switched off: %(reason)s", { tool: title(one), reason: one.reason });
  return [
    ...lines(off, switchedOff, (tools) => gettext("Switched off for now: %(tools)s.", { tools })),
    ...lines(on, (one) => gettext("“%(tool)s” can be used again.", { tool: title(one) }), (tools) => gettext("These can be used again: %(tools)s.", { tools })),
  ];
}

/** The id of the message that a part of its text or reasoning belongs to: one after a call has an id of its own. */
export const wholeId = (id) => id?.replace(/-part\d+$/, "");

/** Whether an interrupt waits for a result from outside, and not for the person. */
export const isPending = ({ reason }) => reason === "tool_pending";

/** Return what to announce of a run that has ended with these interrupts. */
export function saidOf(interrupts) {
  if (interrupts.some(({ reason }) => reason === "input_required")) return gettext("The assistant has a question.");
  if (interrupts.every(isPending)) return interrupts.map(({ message }) => message).join(" ");
  return gettext("The assistant needs your approval to go on.");
}

const withOneDigit = (value) => value.toLocaleString(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Return a duration in words. */
export function duration(ms) {
  if (ms < 1000) return gettext("%(time)s ms", { time: ms });
  if (ms < 60_000) return gettext("%(time)s s", { time: withOneDigit(ms / 1000) });
  return gettext("%(minutes)s min %(seconds)s s", { minutes: Math.floor(ms / 60_000), seconds: Math.round((ms % 60_000) / 1000) });
}

/** The states of a tool call in words. */
export const TOOL_STATES = {
  preparing: gettext("Preparing"),
  running: gettext("Running"),
  ok: gettext("Done"),
  error: gettext("Failed"),
  unknown: gettext("Outcome unknown"),
  refused: gettext("Refused"),
  timeout: gettext("Timed out"),
  cancelled: gettext("Stopped"),
  declined: gettext("Rejected"),
  interrupted: gettext("Interrupted"),
  awaiting_approval: gettext("Needs your approval"),
  approved: gettext("Approved"),
  expired: gettext("Expired"),
  pending: gettext("Waits for its result"),
};

const CUT_OFF = gettext("This answer was cut off.");
const CUT = {
  length: gettext("The answer was cut off: it reached the model's length limit."),
  content_filter: gettext("The answer was cut off by the provider's content filter."),
  invalid_form: gettext("This answer did not have the required format; the assistant tries again."),
};

/** Return why an answer is incomplete, as a sentence. `reason` is that of `message.cut` or a snapshot's `cutReason`, if there is one. */
export const whyCut = (reason) => CUT[reason] ?? CUT_OFF;

/** Whether the model can go on with an answer that ends with this sentence. */
export const canGoOn = (sentence) => sentence === CUT_OFF || sentence === CUT.length;

const hasKeyboard = matchMedia("(pointer: fine)");
const OF_AN_INPUT_METHOD = 229; // Safari ends a composition before the Enter that confirms it, and says so only here

/** Return whether a key in the message box sends: Enter alone, or Ctrl+Enter on a phone, where Enter starts a new line. */
export function isSendKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.altKey) return false;
  if (event.isComposing || event.keyCode === OF_AN_INPUT_METHOD) return false;
  return hasKeyboard.matches || event.ctrlKey || event.metaKey;
}

const ACCIDENTAL = 500; // milliseconds in which a double click's second half comes

/** Show the stop button, or hide it. The send button is the caller's.
 * The stop button takes no click for a moment: it would be the second half of a double click on the send button. */
export function showStop(stop, isBusy) {
  if (stop.hidden === !isBusy) return;
  stop.hidden = !isBusy;
  if (!isBusy) return;
  stop.disabled = true;
  setTimeout(() => (stop.disabled = false), ACCIDENTAL);
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea"); // works without a secure origin or a permission
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** Keep files that are dropped on `target` from replacing the page, until `signal` aborts. Calls `take(files)` for them,
 * or for none if nothing can be attached, and sets `data-dropping` on `shown` while they are dragged over it. */
export function catchFiles(target, take, options, signal) {
  const withFiles = (event) => event.dataTransfer?.types.includes("Files");
  const dragged = (isOver) => options.canTake && options.shown.toggleAttribute("data-dropping", isOver);
  target.addEventListener("dragover", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = options.canTake ? "copy" : "none";
    dragged(true);
  }, { signal });
  target.addEventListener("dragleave", (event) => event.relatedTarget || dragged(false), { signal });
  target.addEventListener("drop", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    dragged(false);
    take(options.canTake ? [...event.dataTransfer.files] : []);
  }, { signal });
}

/** Return a number of bytes in words. */
export function sizeOf(bytes) {
  if (bytes < 1024) return ngettext("%(count)s byte", "%(count)s bytes", bytes);
  return bytes < 1024 ** 2 ? gettext("%(size)s KB", { size: Math.round(bytes / 1024) }) : gettext("%(size)s MB", { size: withOneDigit(bytes / 1024 ** 2) });
}

/** Return the text of a message's content: a string, or AG-UI's content parts. */
export function textOf(content) {
  return typeof content === "string" ? content : content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n");
}

/** Return the parts of a message's content that are files. */
export function filesOf(content) {
  return typeof content === "string" ? [] : content.filter(({ source }) => source?.type === "file");
}

/** Return a part that is a file as tools' files are described; `uploads` is the address of uploads. */
export function describedFile({ source, metadata }, uploads) {
  return { name: metadata?.name ?? "file", mediaType: source.mimeType, size: metadata?.size ?? 0, url: `${uploads}${source.value}/content/` };
}

const dirty = new Set();
const callbacks = new Set();
let isScheduled = false;

function flush() {
  isScheduled = false;
  const items = [...dirty];
  dirty.clear();
  for (const item of items) item.flush();
  for (const callback of callbacks) callback();
}

/** Call `item.flush()` once, in the next animation frame. */
export function touch(item) {
  dirty.add(item);
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(flush);
}

/** Call `callback()` after the updates of each frame. Returns a function that ends that. */
export function afterFlush(callback) {
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

/** Whether a notice of an app lists nothing. */
export const isEmpty = (value) => Object.values(value).every((list) => !list.length);
