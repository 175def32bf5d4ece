/* Texts that were written and not sent, one for each conversation, until the tab is closed. */

/** Keep a text under a key, or delete it if it is empty. */
export function keepDraft(key, text) {
  try {
    if (text) sessionStorage.setItem(`draft:${key}`, text);
    else sessionStorage.removeItem(`draft:${key}`);
  } catch {
    /* no storage: the text is lost when the conversation is left */
  }
}

export function draft(key) {
  try {
    return sessionStorage.getItem(`draft:${key}`) ?? "";
  } catch {
    return "";
  }
}
