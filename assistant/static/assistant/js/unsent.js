/* Stores a run's input that has not reached the server, so that it survives a reload of the page. */

// With the user: whoever signs in next in this tab must not send it.
const key = () => `unsent:${document.getElementById("chat")?.dataset.user}:${location.pathname}`;

/** Store a run's input, or delete the stored one if `input` is null. */
export function keep(input) {
  try {
    if (input) sessionStorage.setItem(key(), JSON.stringify(input));
    else sessionStorage.removeItem(key());
  } catch {
    /* no storage: the input is lost when the page is left */
  }
}

/** Return the input stored for this page, or null. */
export function restore() {
  try {
    return JSON.parse(sessionStorage.getItem(key()) ?? "null");
  } catch {
    return null;
  }
}
