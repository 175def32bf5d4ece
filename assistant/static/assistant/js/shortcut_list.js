/* The list of shortcuts, where each can be given other keys. Loaded when it is opened. */

import { announce, byId } from "./dom.js";
import { make } from "./elements.js";
import { gettext } from "./i18n.js";
import { keepShortcuts, keysOf, shortcuts } from "./shortcuts.js";

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const NAMES = { Mod: isMac ? "⌘" : gettext("Ctrl"), Escape: "Esc", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };
// Without these nobody could leave the list, or the page, by keyboard.
const KEPT = new Set(["Tab", "Shift+Tab", "Enter", "Space", "Shift"]);
let isReady = false;

const shown = (keys) => keys.split(/\+(?=.)/).map((key) => make("kbd", {}, NAMES[key] ?? key));
const buttons = () => [...byId("shortcuts").querySelectorAll("[data-shortcut]")];

function draw() {
  const keys = shortcuts();
  for (const button of buttons()) button.replaceChildren(...shown(keys[button.dataset.shortcut]).flatMap((key) => [key, " "]));
}

function say(text) {
  byId("shortcut-note").textContent = text;
}

/** Take the next keys for what a button names; Escape is one of them only for stopping. */
function ask(button) {
  const { shortcut } = button.dataset;
  button.textContent = gettext("Press keys…");
  say("");
  const end = () => {
    button.removeEventListener("keydown", take);
    button.removeEventListener("blur", end);
    draw();
  };
  const take = (event) => {
    const keys = keysOf(event);
    if (KEPT.has(keys)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!keys) return;
    if (keys !== "Escape" || shortcut === "stop") change(shortcut, keys);
    end();
  };
  button.addEventListener("keydown", take);
  button.addEventListener("blur", end);
}

function change(name, keys) {
  const now = shortcuts();
  const other = Object.keys(now).find((one) => one !== name && now[one] === keys);
  if (other) {
    say(gettext("These keys do something else already."));
    announce(gettext("These keys do something else already."));
    return;
  }
  keepShortcuts({ ...now, [name]: keys });
}

/** Show the list. */
export function open() {
  const dialog = byId("shortcuts");
  if (!isReady) {
    dialog.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-shortcut]");
      if (button) ask(button);
    });
    byId("shortcuts-reset").addEventListener("click", () => {
      keepShortcuts(null);
      draw();
    });
    // While keys are awaited, Escape is the button's.
    dialog.addEventListener("cancel", (event) => buttons().some((one) => !one.querySelector("kbd")) && event.preventDefault());
    isReady = true;
  }
  say("");
  draw();
  dialog.showModal();
}
