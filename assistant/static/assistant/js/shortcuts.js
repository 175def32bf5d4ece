/* Keys of the page, which a person can change in this browser: in the list of shortcuts. */

const STORED = "shortcuts"; // in the browser's storage: keys by name of what they do
// `Mod` is Ctrl, or Command on a Mac.
export const DEFAULTS = { search: "Mod+K", new: "Mod+Shift+O", sidebar: "Mod+Shift+S", copy: "Mod+Shift+C", quote: "Mod+Shift+E", stop: "Escape", help: "?" };
const MODIFIERS = ["Control", "Meta", "Alt", "Shift", "AltGraph"];

/** Return the keys of an event, such as "Mod+Shift+O"; "" while modifiers alone are pressed. */
export function keysOf({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  if (!key || MODIFIERS.includes(key)) return "";
  const name = key === " " ? "Space" : key.length === 1 ? key.toUpperCase() : key;
  const isShifted = shiftKey && (name.length > 1 || name.toLowerCase() !== name); // ? is what Shift made of another key
  return [(ctrlKey || metaKey) && "Mod", altKey && "Alt", isShifted && "Shift", name].filter(Boolean).join("+");
}

/** Return the keys by name of what they do. */
export function shortcuts() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    const known = Object.entries(stored).filter(([name, keys]) => Object.hasOwn(DEFAULTS, name) && typeof keys === "string");
    return { ...DEFAULTS, ...Object.fromEntries(known) };
  } catch {
    return DEFAULTS; // no storage, or what is in it is not ours
  }
}

/** Keep other keys; `null` for those of the beginning. */
export function keepShortcuts(changed) {
  try {
    if (changed) localStorage.setItem(STORED, JSON.stringify(changed));
    else localStorage.removeItem(STORED);
  } catch {
    /* no storage: the keys stay as they were */
  }
}

export const isShortcut = (event, name) => keysOf(event) === shortcuts()[name];

const isWriting = (element) => element.closest?.("input, textarea, select, [contenteditable]");

/** Call `actions[name]()` at the keys of a name; in a text only at those with Ctrl, Command or Alt. */
export function listen(actions) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    const pressed = keysOf(event);
    if (!pressed || (isWriting(event.target) && !/^(Mod|Alt)\+/.test(pressed))) return;
    const keys = shortcuts();
    const name = Object.keys(actions).find((one) => keys[one] === pressed);
    if (!name) return;
    event.preventDefault();
    actions[name]();
  });
}
