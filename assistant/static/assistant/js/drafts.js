/* What was written and not sent, one text with its files for each conversation, until the tab is closed. */

// The trays of conversations that were left with files, whose uploads go on.
const trays = new Map();

/** Keep the files of a conversation that is left, under its draft's key. */
export function keepTray(key, tray) {
  trays.set(key, tray);
  tray.options = { ...tray.options, changed: () => keepDraft(key, draft(key).text, tray.parts), emptied: () => {}, announce: () => {}, dropped: () => {} };
}

/** Return the tray that was kept under a key, if there is one; it is the caller's then. */
export function takeTray(key) {
  const tray = trays.get(key);
  trays.delete(key);
  return tray;
}

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
