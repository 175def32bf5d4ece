/* What the chat page and the widget share: ids, moments for people, and one write per animation frame. */

export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // a page over plain HTTP has no randomUUID
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** A sentence whose moments, such as 2026-11-23T00:00:00Z, are told in the reader's own time and words. */
export function inLocalTime(sentence) {
  return sentence.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (moment) => {
    const then = new Date(moment);
    const isToday = then.toDateString() === new Date().toDateString();
    return then.toLocaleString([], isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
  });
}

const dirty = new Set();
const afterwards = new Set();
let isScheduled = false;

function flush() {
  isScheduled = false;
  const things = [...dirty];
  dirty.clear();
  for (const thing of things) thing.flush();
  for (const callback of afterwards) callback();
}

/** Have `thing.flush()` called once, in the next frame. */
export function touch(thing) {
  dirty.add(thing);
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(flush);
}

/** Have `callback()` called after each frame's writes. */
export function afterFlush(callback) {
  afterwards.add(callback);
}
