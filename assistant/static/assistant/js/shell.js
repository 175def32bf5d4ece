/* Starts a page that stands beside the list of conversations: the list, and the notices of optional apps. */

import { announce, byId, root } from "./dom.js";
import { makeMenu } from "./menu.js";
import { listen } from "./shortcuts.js";
import { Sidebar } from "./sidebar.js";

const page = byId("chat");
const { base, socket } = page.dataset;
const go = (address) => location.assign(address);
const sidebar = new Sidebar({ base, current: "", onRename: () => {}, onLeave: go });
const notices = [...page.dataset.notices.matchAll(/(\S+) (\S+)/g)];

/** Show what the notices list, by a connection that is used for nothing else. */
async function follow() {
  const [{ Connection }, { isEmpty }] = await Promise.all([import("./connection.js"), import("./shared.js")]);
  const { signal } = new AbortController();
  const connection = new Connection(socket, signal);
  const shown = {};
  const show = async (name, script, value) => {
    if (!shown[name] && isEmpty(value)) return;
    const { default: Notice } = await import(script);
    if (!shown[name]) {
      shown[name] = new Notice({ send: (frame) => connection.send(frame), announce, focus: () => byId("page").focus(), asks: true, open: (id) => sidebar.open(id), sidebar: byId("sidebar") }, signal);
      byId("page").before(shown[name].element);
    }
    shown[name].show(value);
  };
  for (const [, name, script] of notices) {
    connection.addEventListener("open", () => connection.send({ type: name }));
    connection.addEventListener("frame", ({ detail }) => detail.name === name && !detail.metadata && show(name, script, detail.value));
  }
  connection.connect();
}

for (const menu of root.querySelectorAll(".sidebar details.menu")) makeMenu(menu);
listen({
  search: () => sidebar.search(),
  new: () => root.querySelector(".new-chat").click(),
  sidebar: () => sidebar.toggle(),
});
if (socket && notices.length) follow();
