/* Starts the chat page: the list, the open conversation, switches between conversations, and shortcuts. */

import { Chat } from "./chat.js";
import { byId, root } from "./dom.js";
import { makeMenu } from "./menu.js";
import { listen } from "./shortcuts.js";
import { Sidebar } from "./sidebar.js";

const { base } = byId("chat").dataset;
const hasKeyboard = matchMedia("(pointer: fine)");
let visit = 0;
let isGoingBack = false; // then the address is the chosen conversation's already

const sidebar = new Sidebar({
  base,
  current: byId("chat").dataset.thread,
  onRename: (title) => (chat.title = title),
  onLeave: (address) => go(address),
});
let chat = new Chat(sidebar);

/** Whether an address is a conversation, or a new one, of this tenant. */
const isConversation = ({ origin, pathname }) => origin === location.origin && (pathname === base || /^c\/[0-9a-f-]{36}\/$/.test(pathname.replace(base, "")));

/** Show the conversation at an address in place of the open one. The list stays as it is. */
async function go(address, { isBack = false } = {}) {
  const number = ++visit;
  isGoingBack = isBack;
  const url = new URL(address, location.href);
  let main = null;
  try {
    const answer = await fetch(url, { redirect: "error" });
    if (answer.ok) main = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    /* offline, or signed out: the browser's own page says so */
  }
  if (number !== visit) return;
  const part = main?.querySelector(".tenant-assistant #chat");
  if (!part?.dataset.socket) {
    location.assign(url);
    return;
  }
  chat.close();
  if (!isBack) history.pushState(null, "", url);
  document.title = main.title;
  part.inert = byId("chat").inert;
  byId("chat").replaceWith(document.adoptNode(part));
  sidebar.current = part.dataset.thread;
  sidebar.close();
  start();
}

function start() {
  chat = new Chat(sidebar);
  startMenu();
  if (hasKeyboard.matches) chat.focus();
}

async function open(action, script, tool = "") {
  const module = await import(script);
  module.open(`${base}c/${chat.id}/`, action, tool);
}

function startMenu() {
  const menu = byId("conversation-menu");
  if (!menu) return;
  makeMenu(menu);
  menu.addEventListener("click", ({ target }) => {
    const { menu: action, script } = target.closest("[data-menu]")?.dataset ?? {};
    if (!action) return;
    menu.open = false;
    if (script) open(action, script);
    else if (action === "print") print();
    else if (action === "shortcuts") showShortcuts();
    else sidebar.mark(chat.id, action, menu);
  });
}

addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.target || !isConversation(link)) return;
  event.preventDefault();
  go(link.href);
});
addEventListener("popstate", () => go(location.href, { isBack: true }));
// The button of a refused call's card.
addEventListener("tool-wanted", ({ detail }) => {
  const { menu, script } = root.querySelector("[data-offers-refused]").dataset;
  open(menu, script, detail.tool);
});
// A message that is sent before a chosen conversation has loaded cancels the switch to it.
addEventListener("message-sent", () => isGoingBack || visit++);

/** In a host's page the chat takes the height that is left below what stands above it. */
function fit() {
  const above = root.getBoundingClientRect().top + scrollY;
  root.style.setProperty("--above", `${Math.min(Math.round(above), innerHeight / 2)}px`);
}
if (root !== document.documentElement) {
  fit();
  addEventListener("resize", fit);
  addEventListener("load", fit);
}

async function showShortcuts() {
  (await import("./shortcut_list.js")).open();
}

listen({
  search: () => sidebar.search(),
  new: () => root.querySelector(".new-chat").click(),
  sidebar: () => sidebar.toggle(),
  copy: () => chat.copyLast(),
  quote: () => chat.quote(),
  help: showShortcuts,
});

for (const menu of root.querySelectorAll(".sidebar details.menu")) makeMenu(menu);
startMenu();
