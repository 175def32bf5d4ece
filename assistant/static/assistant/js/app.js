/* The chat page: puts the connection, the thread and what shows them together. */

import { Composer } from "./composer.js";
import { Connection } from "./connection.js";
import { announce, byId, newId } from "./dom.js";
import { Follow } from "./scroll.js";
import { Sidebar } from "./sidebar.js";
import { Thread } from "./thread.js";
import { Transcript } from "./transcript.js";
import * as unsent from "./unsent.js";

const SHOW_TROUBLE_AFTER = 700;

const page = byId("chat");
const { socket, base, assistant, tenant } = page.dataset;
const isNew = !page.dataset.thread;

const line = byId("connection");
const connection = new Connection(socket);
const follow = new Follow(byId("scroller"), byId("jump"));
const transcript = new Transcript(byId("transcript"), assistant, {
  retry: () => thread.retry(),
  resume: (entries) => thread.resume(entries),
});

function setTitle(title) {
  byId("title").textContent = title;
  document.title = `${title} · ${tenant} · Tenant Assistant`;
}

const sidebar = new Sidebar({ base, current: page.dataset.thread, onRename: setTitle });

const view = {
  asked(message) {
    byId("welcome")?.remove();
    transcript.clearFailures();
    if (message) transcript.addUser(message);
    if (connection.isOpen) line.hidden = true;
    follow.toEnd();
  },
  change() {
    composer.isBusy = thread.isBusy;
    transcript.working(thread.isBusy);
    const unsent = thread.pendingMessage;
    if (unsent) transcript.note(unsent.id, thread.waitsFor);
  },
  delayed() {
    announce(thread.waitsFor);
    this.change();
  },
  started(isOurs) {
    this.change();
    for (const note of document.querySelectorAll(".turn.user .note")) note.hidden = true;
    announce(isOurs ? `${assistant} is answering` : "Answering a message from another window");
    if (location.pathname === base) this.settleAddress();
    sidebar.refresh();
  },
  settleAddress() {
    history.replaceState(null, "", `${base}c/${thread.id}/`);
    sidebar.current = thread.id;
    const first = document.querySelector(".turn.user .bubble")?.textContent ?? "Conversation";
    setTitle(first.replace(/\s+/g, " ").trim().slice(0, 80));
  },
  event(event) {
    transcript.event(event);
  },
  block(value) {
    transcript.block(value);
  },
  summary(text) {
    byId("summary-text").textContent = text;
    byId("summary").hidden = false;
  },
  snapshot(messages) {
    byId("skeleton")?.remove();
    byId("welcome")?.remove();
    transcript.snapshot(messages, thread.pendingMessage);
    this.change();
    transcript.resumeLast();
  },
  ended(event, isNews) {
    transcript.ended(event, isNews);
    this.change();
    if (isNews) sidebar.refresh();
  },
  undecided(reason) {
    transcript.undecided(reason);
    this.change();
  },
  refused({ message, code }, refused) {
    byId("skeleton")?.remove();
    transcript.working(false);
    if (code === "thread_not_found" && !refused) transcript.ended({ type: "RUN_ERROR", message: "This conversation does not exist any more.", code }, false);
    else transcript.ended({ type: "RUN_ERROR", message, code }, true);
    if (refused) transcript.note(refused.id, "Not sent", "refused");
    composer.isBusy = thread.isBusy;
  },
};

const thread = new Thread({ id: page.dataset.thread || newId(), isNew, connection, view, unsent });

function send(text) {
  if (thread.say(text)) return true;
  showTrouble("This message is too long to send. Shorten it, please.", false);
  return false;
}

const composer = new Composer({
  send,
  stop() {
    const unsent = thread.stop();
    if (!unsent) return;
    transcript.remove(unsent.id);
    transcript.working(false);
    composer.text = unsent.content;
  },
});

byId("welcome")?.addEventListener("click", (event) => {
  const starter = event.target.closest("[data-starter]");
  if (starter && !thread.isBusy) send(starter.textContent);
});

let trouble = 0;

function showTrouble(text, canRetry) {
  byId("connection-text").textContent = text;
  byId("reconnect").hidden = !canRetry;
  if (line.hidden) announce(text);
  line.hidden = false;
}

connection.addEventListener("change", ({ detail: { state, reason } }) => {
  clearTimeout(trouble);
  document.body.dataset.connection = state;
  view.change();
  if (state === "open") {
    if (!line.hidden) announce("Connected again");
    line.hidden = true;
  } else if (state === "signed-out") {
    showTrouble("You are signed out, or your access has ended. Reload the page to sign in again.", false);
  } else if (reason) {
    showTrouble(reason, true);
  } else if (line.hidden) {
    trouble = setTimeout(() => showTrouble("Connection lost. Trying to come back…", true), SHOW_TROUBLE_AFTER);
  }
});
byId("reconnect").addEventListener("click", () => connection.retryNow());

if (thread.pendingMessage) view.asked(thread.pendingMessage);
connection.connect();
