/* Texts that were written and not sent, of each conversation, until the tab is closed. */

const key = () => `draft:${location.pathname}${location.search}`;

export function keepDraft(text) {
  try {
    if (text) sessionStorage.setItem(key(), text);
    else sessionStorage.removeItem(key());
  } catch {
    /* no storage: the text is lost when the conversation is left */
  }
}

export function draft() {
  try {
    return sessionStorage.getItem(key()) ?? "";
  } catch {
    return "";
  }
}
