/* What waits over all conversations: in the rows of the list, the title and the icon of the tab, the page of the inbox,
 * and notifications of the browser for a window in the background; in the widget, a list below its head. */

import { make } from "../js/elements.js";
import { dayOrTime, gettext } from "../js/i18n.js";
import { askButton, canAsk, notify } from "../js/notify.js";

const WORDS = { needs: gettext("Needs you"), new: gettext("New answer"), running: gettext("Being answered") };
const ICONS = ["needs", "new", "running"]; // of the tab, the most pressing first
const COUNTED = /^\(\d+\) /;
// Another window that shows the conversation says first that it was seen. Milliseconds.
const NOTIFY_AFTER = 1500;

export default class Inbox {
  element = make("section.inbox-notice", { hidden: true, "aria-label": gettext("Inbox") });
  #entries = [];
  #told = new Set(); // keys of entries that were announced, or that waited before the page was loaded
  #send;
  #announce;
  #isShown;
  #open;
  #current;
  #sidebar;
  #ownIcon = null;

  /** As each notice: `shown_notices.py`. `open(threadId)` opens a conversation, `current()` returns the id of the open one, and
   * `sidebar` has the list of conversations; without it, as in the widget, the notice is a list itself. */
  constructor({ send, announce, isShown = () => !document.hidden, open = () => {}, current = () => "", sidebar = null }, signal) {
    this.#send = send;
    this.#announce = announce;
    this.#isShown = isShown;
    this.#open = open;
    this.#current = current;
    this.#sidebar = sidebar;
    document.addEventListener("visibilitychange", () => this.look(), { signal });
    if (sidebar) this.#watchPage(signal);
  }

  /** The number of conversations that wait for somebody, without the one that is before their eyes. */
  get count() {
    return this.#entries.filter((entry) => entry.state !== "running" && !this.#isRead(entry)).length;
  }

  show({ entries }) {
    this.#entries = entries;
    this.look();
    for (const entry of entries) this.#tell(entry);
  }

  /** Look again at what is before somebody's eyes: an answer that is, was seen. */
  look() {
    const seen = this.#entries.find((entry) => entry.state === "new" && this.#isRead(entry));
    if (seen && this.#send({ type: "inbox.seen", threadId: seen.threadId })) this.#entries = this.#entries.filter((entry) => entry !== seen);
    if (this.#sidebar) this.#showInPage();
    else this.#showList();
  }

  #isRead({ threadId }) {
    return this.#isShown() && threadId === this.#current();
  }

  /** Say once that something waits elsewhere. */
  #tell(entry) {
    const key = keyOf(entry);
    if (entry.state === "running" || this.#told.has(key)) return;
    this.#told.add(key);
    if (this.#isRead(entry) || Date.parse(entry.at) < performance.timeOrigin) return;
    const what = WORDS[entry.state];
    this.#announce(gettext("%(what)s: %(title)s", { what, title: titleOf(entry) }));
    setTimeout(() => {
      const stillWaits = this.#entries.some((one) => keyOf(one) === key);
      if (stillWaits && !this.#isShown()) notify(titleOf(entry), entry.about ? `${what}: ${entry.about}` : what, `inbox-${key}`, () => this.#open(entry.threadId));
    }, NOTIFY_AFTER);
  }

  #showList() {
    const elsewhere = this.#entries.filter(({ threadId }) => threadId !== this.#current());
    const rows = elsewhere.map((entry) =>
      make(
        "button.inbox-entry",
        { type: "button", "data-state": entry.state, onclick: () => this.#open(entry.threadId) },
        make("span.inbox-title", { dir: "auto" }, titleOf(entry)),
        make("span.inbox-about", {}, [WORDS[entry.state], entry.about, dayOrTime(new Date(entry.at))].filter(Boolean).join(" · ")),
      ),
    );
    this.element.replaceChildren(...rows);
    this.element.hidden = !rows.length;
  }

  #watchPage(signal) {
    const titles = new MutationObserver(() => this.#showTitle());
    titles.observe(document.head, { childList: true, subtree: true, characterData: true });
    this.#sidebar.addEventListener("arranged", () => this.#showRows(), { signal });
    signal.addEventListener("abort", () => {
      titles.disconnect();
      document.title = document.title.replace(COUNTED, "");
      this.#showIcon("");
    });
    const page = this.#page;
    if (page && canAsk()) page.before(askButton());
  }

  get #page() {
    return document.querySelector(".tenant-assistant #inbox");
  }

  #showInPage() {
    this.#showRows();
    this.#showTitle();
    this.#showIcon(ICONS.find((state) => this.#entries.some((entry) => entry.state === state && (state === "running" || !this.#isRead(entry)))) ?? "");
    const { count } = this;
    for (const place of this.#sidebar.querySelectorAll("[data-count=inbox]")) {
      place.textContent = count;
      place.hidden = !count;
    }
    this.#refreshPage();
  }

  #showRows() {
    const states = new Map(this.#entries.map(({ threadId, state }) => [threadId, state]));
    for (const row of this.#sidebar.querySelectorAll(".conversation")) {
      const state = states.get(row.dataset.id) ?? "";
      if ((row.dataset.state ?? "") === state) continue;
      row.querySelector(".row-state")?.remove();
      if (state) row.querySelector(".who").prepend(make("span.row-state", {}, WORDS[state]));
      row.dataset.state = state;
    }
  }

  #showTitle() {
    const { count } = this;
    const own = document.title.replace(COUNTED, "");
    const wanted = count ? `(${count}) ${own}` : own;
    if (document.title !== wanted) document.title = wanted;
  }

  /** Show a state as the icon of the tab, or the page's own icon. */
  #showIcon(state) {
    const link = document.querySelector("link[rel=icon]");
    if (!link) return; // a host's page has its own
    this.#ownIcon ??= link.dataset.own ?? link.href;
    link.dataset.own = this.#ownIcon;
    const address = state ? new URL(`./${state}.svg`, import.meta.url).href : this.#ownIcon;
    if (link.href !== address) link.href = address;
  }

  /** Load the list of the inbox's page again, if that is open. */
  async #refreshPage() {
    const page = this.#page;
    const wanted = this.#entries.map(keyOf).join(" ");
    if (!page || page.dataset.shown === wanted) return;
    const isFirst = !("shown" in page.dataset); // the page came with it
    page.dataset.shown = wanted;
    if (isFirst) {
      localise(page);
      return;
    }
    try {
      const answer = await fetch(location.href, { redirect: "error" });
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".tenant-assistant #inbox");
      if (!found || page.dataset.shown !== wanted) return;
      localise(found);
      page.replaceChildren(...found.children);
    } catch {
      /* offline: it is loaded with the next change */
    }
  }
}

/** Show times in the reader's zone. */
function localise(page) {
  for (const time of page.querySelectorAll("time")) time.textContent = dayOrTime(new Date(time.dateTime));
}

const keyOf = ({ threadId, state, at }) => `${threadId}:${state}:${at}`;

const titleOf = ({ title }) => title || gettext("Untitled conversation");
