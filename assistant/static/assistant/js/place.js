/* Where the reader of a transcript is: the message at the top of what is shown, and those before it. */

const MESSAGES = ":is(.user, .answer)[data-id]";
const BEFORE = 2; // messages, for when the first one is not there any more

/** Return the ids of the message at the top of a scroller and of those before it, nearest first, and how far below the top each begins,
 * in pixels. */
export function placeOf(scroller) {
  const { top } = scroller.getBoundingClientRect();
  const isShown = (element) => element.getBoundingClientRect().bottom > top;
  // A group out of view has no layout, and measuring what is in it would make one.
  const groups = [...scroller.querySelectorAll(".group")];
  const at = groups.findIndex(isShown);
  const near = groups.length ? groups.slice(Math.max(0, at - 1), at + 1) : [scroller];
  const messages = near.flatMap((group) => [...group.querySelectorAll(MESSAGES)]).filter(({ offsetHeight }) => offsetHeight);
  const first = messages.findIndex(isShown);
  if (first < 0) return [];
  const offsetOf = (message) => message.getBoundingClientRect().top - top;
  return messages.slice(Math.max(0, first - BEFORE), first + 1).reverse().map((message) => ({ id: message.dataset.id, offset: offsetOf(message) }));
}

const nameOf = (key) => `place:${key}`;

/** Keep the place of a conversation until the tab is closed, or forget it if there is none. */
export function keepPlace(key, place) {
  try {
    if (place) sessionStorage.setItem(nameOf(key), JSON.stringify(place));
    else sessionStorage.removeItem(nameOf(key));
  } catch {
    /* no storage: the conversation is shown from its end */
  }
}

/** Return the place that was kept, or null. */
export function keptPlace(key) {
  try {
    return JSON.parse(sessionStorage.getItem(nameOf(key)));
  } catch {
    return null;
  }
}
