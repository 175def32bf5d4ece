/* Starts the chat page: connects the websocket, the thread and the page's elements. */

import { Composer } from "./composer.js";
import { Connection } from "./connection.js";
import { announce, byId, newId } from "./dom.js";
import { Follow } from "./scroll.js";
import { makeMenu } from "./menu.js";
import { refuseFiles } from "./shared.js";
import { Sidebar } from "./sidebar.js";
import { passageShown } from "./sources.js";
import { Thread, whyTooLong } from "./thread.js";
import { Transcript } from "./transcript.js";
import * as unsent from "./unsent.js";

const SHOW_PROBLEM_AFTER = 700; // milliseconds, so that a short interruption shows nothing

const page = byId("chat");
const { socket, base, assistant, tenant } = page.dataset;
const isNew = "new" in page.dataset; // nothing was said in it, though the API may have made it already

const notice = byId("connection");
const connection = new Connection(socket);
const follow = new Follow(byId("scroller"), byId("jump"));
const transcript = new Transcript(byId("transcript"), assistant, {
  retry: () => thread.retry(),
  resume: (entries) => thread.resume(entries),
  again: (text) => !thread.isBusy && send(text),
  rate: (...rating) => thread.rate(...rating),
  passage: showPassage,
});

function showPassage(passage) {
  byId("passage-body").replaceChildren(...passageShown(passage));
  byId("passage").showModal();
}

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
    if (connection.isOpen) notice.hidden = true;
    follow.toEnd();
  },
  change() {
    const isSignedOut = connection.state === "signed-out";
    composer.isBusy = isSignedOut ? Boolean(thread.pendingMessage) : thread.isBusy;
    transcript.working(thread.isBusy && !isSignedOut);
    const unsent = thread.pendingMessage;
    if (unsent) transcript.note(unsent.id, isSignedOut ? "Sent as soon as you have signed in" : thread.waitsFor);
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
  details(messages) {
    transcript.details(messages);
  },
  rated(value) {
    transcript.rated(value);
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
  ended(event, isLive) {
    transcript.ended(event, isLive);
    this.change();
    if (!isLive) return;
    sidebar.refresh();
    if (composer.isIdle) transcript.focusQuestion();
  },
  decisionsRefused(reason) {
    transcript.askAgain(reason);
    this.change();
  },
  refused({ message, code }, refused) {
    byId("skeleton")?.remove();
    transcript.working(false);
    if (code === "thread_not_found" && !refused) transcript.ended({ type: "RUN_ERROR", message: "This conversation no longer exists.", code }, false);
    else transcript.ended({ type: "RUN_ERROR", message, code }, true);
    if (refused) transcript.note(refused.id, "Not sent", "refused");
    composer.isBusy = thread.isBusy;
  },
};

const thread = new Thread({ id: page.dataset.thread || newId(), isNew, connection, view, unsent });

function send(text) {
  const problem = whyTooLong(text);
  if (!problem && thread.sendText(text)) return true;
  showProblem(problem || "This message is too long to send. Shorten it, please.");
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

for (const menu of document.querySelectorAll("details.menu")) makeMenu(menu);

let problemTimer = 0;

/** Show a problem with what helps against it: "reconnect", "sign-in", or nothing. */
function showProblem(text, remedy = "") {
  byId("connection-text").textContent = text;
  for (const id of ["reconnect", "sign-in"]) byId(id).hidden = id !== remedy;
  if (notice.hidden) announce(text);
  notice.hidden = false;
}

connection.addEventListener("change", ({ detail: { state, reason } }) => {
  clearTimeout(problemTimer);
  document.body.dataset.connection = state;
  view.change();
  if (state === "open") {
    if (!notice.hidden) announce("Connected again");
    notice.hidden = true;
  } else if (state === "signed-out") {
    byId("skeleton")?.remove();
    const back = new URLSearchParams({ next: location.pathname + location.search });
    byId("sign-in").search = back;
    showProblem("You are signed out, or your access has ended.", "sign-in");
  } else if (reason) {
    showProblem(reason, "reconnect");
  } else if (notice.hidden) {
    problemTimer = setTimeout(() => showProblem("Connection lost. Reconnecting…", "reconnect"), SHOW_PROBLEM_AFTER);
  }
});
refuseFiles(window, () => showProblem("Files cannot be sent to the assistant. Copy their text, please."));
byId("reconnect").addEventListener("click", () => connection.retryNow());

if (thread.pendingMessage) view.asked(thread.pendingMessage);
connection.connect();
