/* What has not reached the server yet survives a reload of the page; without storage it lives as long as the page. */

const key = () => `unsent:${location.pathname}`;

/** Keep a run's input; null if all has arrived. */
export function keep(input) {
  try {
    if (input) sessionStorage.setItem(key(), JSON.stringify(input));
    else sessionStorage.removeItem(key());
  } catch {
    /* no storage */
  }
}

/** What was kept for this page; null if nothing was. */
export function restore() {
  try {
    return JSON.parse(sessionStorage.getItem(key()) ?? "null");
  } catch {
    return null;
  }
}
