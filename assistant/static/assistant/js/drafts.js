/* What was written and not sent, one text with its files for each conversation, until the tab is closed. */

/** Keep a text and content parts of uploaded files under a key, or delete what is kept if there is neither. */
export function keepDraft(key, text, files = []) {
  try {
    if (text || files.length) sessionStorage.setItem(`draft:${key}`, JSON.stringify({ text, files }));
    else sessionStorage.removeItem(`draft:${key}`);
  } catch {
    /* no storage: it is lost when the conversation is left */
  }
}

/** Return what is kept under a key, as `{ text, files }`. */
export function draft(key) {
  try {
    return JSON.parse(sessionStorage.getItem(`draft:${key}`)) ?? { text: "", files: [] };
  } catch {
    return { text: "", files: [] };
  }
}
