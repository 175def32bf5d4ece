/* The list of conversations: search, rename, delete, pin, archive, later pages. On narrow screens it is a drawer. */

import { announce, byId, frame } from "./dom.js";
import { make } from "./elements.js";
import { gettext, locale } from "./i18n.js";
import { Roving } from "./roving.js";
import { toast } from "./toast.js";

const SEARCH_AFTER = 200; // milliseconds after the last keystroke
const DAY = 86_400_000; // milliseconds
const COLLAPSED = "sidebar-collapsed";
const narrow = matchMedia("(max-width: 760px)");

export class Sidebar {
  #list = byId("conversations");
  #search = byId("search");
  #roving = new Roving(this.#list, this.#search);
  #archive = byId("archive");
  #tabs;
  #base;
  #current;
  #onRename;
  #onLeave;
  #request = 0;
  #deleted = new Set(); // ids of those that can still be taken back
  #pages = 1;
  #nearEnd = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && this.#more());

  /** `onRename(title)` is called when the open conversation is renamed, and `onLeave(address)` when another takes its place. */
  constructor({ base, current, onRename, onLeave }) {
    this.#base = base;
    this.#current = current;
    this.#onRename = onRename;
    this.#onLeave = onLeave;
    this.#tabs = new BroadcastChannel(`conversations ${base}`);
    this.#tabs.onmessage = () => this.refresh();
    this.#list.addEventListener("click", (event) => this.#clicked(event));
    let timer = 0;
    this.#search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#start(), SEARCH_AFTER);
    });
    byId("search-form").addEventListener("submit", async (event) => {
      event.preventDefault();
      clearTimeout(timer);
      await this.#start();
      this.#list.querySelector(".conversation > a")?.click();
    });
    this.#archive.addEventListener("click", () => {
      const isOn = this.#archive.getAttribute("aria-pressed") !== "true";
      this.#archive.setAttribute("aria-pressed", String(isOn));
      this.#start();
    });
    const go = (address) => {
      this.changed();
      onLeave(address);
    };
    for (const button of byId("sidebar").querySelectorAll("[data-script]")) {
      button.addEventListener("click", async () => (await import(button.dataset.script)).open({ base, go }));
    }
    this.#drawer();
    this.#arrange();
  }

  set current(id) {
    this.#current = id;
    for (const link of this.#list.querySelectorAll(".conversation > a")) {
      if (id && link.parentElement.dataset.id === id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /** Open a conversation of the list. */
  open(id) {
    this.#onLeave(`${this.#base}c/${id}/`);
  }

  /** Load the list again: something in it has changed, here and in the browser's other tabs. */
  changed() {
    this.#tabs.postMessage("changed");
    this.refresh();
  }

  #start() {
    this.#pages = 1;
    return this.refresh();
  }

  async #fetched(after = "") {
    const isArchive = this.#archive.getAttribute("aria-pressed") === "true";
    const query = new URLSearchParams({ q: this.#search.value, current: this.#current, after, archived: isArchive ? "1" : "" });
    const answer = await fetch(`${this.#base}conversations/?${query}`, { redirect: "error" });
    if (!answer.ok) throw new Error(`the list answered ${answer.status}`);
    return [...new DOMParser().parseFromString(await answer.text(), "text/html").body.children];
  }

  /** Load the list again, with the current search and as many pages as it has. */
  async refresh() {
    const number = ++this.#request;
    try {
      let items = await this.#fetched();
      for (let page = 1; page < this.#pages; page += 1) {
        const more = items.at(-1)?.querySelector("[data-after]");
        if (more) items = [...items.slice(0, -1), ...(await this.#fetched(more.dataset.after))];
      }
      if (number !== this.#request) return;
      if (this.#list.querySelector(".renaming")) return; // its field would be lost
      const focused = document.activeElement?.closest(".conversation")?.dataset.id;
      this.#list.replaceChildren(...items);
      this.#arrange();
      if (focused) this.#item(focused)?.querySelector("a").focus({ preventScroll: true });
    } catch {
      /* offline: keep the old list; it is loaded again with the next run */
    }
  }

  async #more() {
    const place = this.#list.querySelector(".more");
    const button = place?.querySelector("[data-after]");
    if (!button || button.disabled) return;
    button.disabled = true;
    const number = this.#request;
    try {
      const items = await this.#fetched(button.dataset.after);
      if (number !== this.#request) return;
      place.replaceWith(...items);
      this.#pages += 1;
      this.#arrange();
    } catch {
      button.disabled = false;
    }
  }

  #item(id) {
    return [...this.#list.querySelectorAll(".conversation")].find((one) => one.dataset.id === id);
  }

  /** Show times in the reader's zone, and put the days above the conversations of each. */
  #arrange() {
    for (const old of this.#list.querySelectorAll("[data-day]")) old.remove();
    for (const item of this.#list.querySelectorAll(".conversation")) item.hidden = this.#deleted.has(item.dataset.id);
    const today = new Date().setHours(0, 0, 0, 0);
    let day = "";
    for (const item of this.#list.querySelectorAll(".conversation:not([hidden])")) {
      const time = item.querySelector("time");
      const moment = new Date(time.dateTime);
      localise(time, moment);
      if ("pinned" in item.dataset || this.#search.value.trim()) continue;
      const name = moment >= today ? gettext("Today") : moment >= today - DAY ? gettext("Yesterday") : gettext("Earlier");
      if (name !== day) item.before(make("li.group-title", { "data-day": name }, name));
      day = name;
    }
    this.#roving.arrange();
    const more = this.#list.querySelector(".more");
    this.#nearEnd.disconnect();
    if (more) this.#nearEnd.observe(more);
    this.#list.dispatchEvent(new Event("arranged", { bubbles: true })); // for notices, which show states in the rows
  }

  async #post(id, what, fields = {}) {
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    const answer = await fetch(`${this.#base}c/${id}/${what}/`, {
      method: "POST",
      headers: { "X-CSRFToken": token },
      body: new URLSearchParams(fields),
      redirect: "error",
      keepalive: true, // it may be asked for as the page is left
    });
    const result = answer.headers.get("content-type")?.includes("json") ? await answer.json() : {};
    if (!answer.ok) throw new Error(result.error ?? gettext("This did not work. Reload the page and try again."));
    return result;
  }

  /** Pin or archive a conversation, or take that back, as the menu's button says. `menu` has that button. */
  async mark(id, what, menu) {
    const button = menu.querySelector(`[data-menu=${what}]`);
    const isOn = button.getAttribute("aria-pressed") !== "true";
    try {
      await this.#post(id, what, { on: isOn ? "1" : "0" });
      button.setAttribute("aria-pressed", String(isOn));
      button.textContent = button.dataset[isOn ? "on" : "off"];
      if (what === "pin") announce(isOn ? gettext("Pinned") : gettext("Not pinned any more"));
      else toast(isOn ? gettext("Archived") : gettext("Restored"), { undo: () => this.mark(id, what, menu) });
      this.changed();
    } catch (error) {
      toast(error.message);
    }
  }

  #clicked(event) {
    const action = event.target.closest("[data-action]")?.dataset.action;
    const item = event.target.closest(".conversation");
    if (action === "rename") this.#rename(item);
    if (action === "delete") this.#delete(item);
    if (event.target.closest("[data-after]")) this.#more();
    // A jump by keyboard ends the search; with the mouse, one result may be opened after another.
    if (event.target.closest("a") && !event.detail && this.#search.value) this.#endSearch();
  }

  #endSearch() {
    this.#search.value = "";
    this.#start();
  }

  #rename(item) {
    const title = item.querySelector(".title");
    const input = document.createElement("input");
    Object.assign(input, { value: title.textContent, maxLength: 200, className: "rename" });
    input.setAttribute("aria-label", gettext("New title"));
    item.classList.add("renaming");
    item.prepend(input);
    input.select();
    let isOver = false;
    const end = async (isKept) => {
      if (isOver) return;
      isOver = true;
      const wanted = input.value.trim();
      if (isKept && wanted && wanted !== title.textContent) {
        try {
          const { title: kept } = await this.#post(item.dataset.id, "rename", { title: wanted });
          title.textContent = kept;
          announce(gettext("Renamed to %(title)s", { title: kept }));
          if (item.dataset.id === this.#current) this.#onRename(kept);
          this.#tabs.postMessage("changed");
        } catch (error) {
          announce(error.message);
        }
      }
      input.remove();
      item.classList.remove("renaming");
      item.querySelector("[data-action=rename]").focus();
    };
    input.addEventListener("blur", () => end(true));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") {
        event.preventDefault();
        end(event.key === "Enter");
      }
    });
  }

  /** Take a conversation off the list, and delete it once that cannot be taken back any more. */
  #delete(item) {
    const { id } = item.dataset;
    const isOpen = id === this.#current;
    const show = () => {
      this.#deleted.delete(id);
      this.#arrange();
    };
    this.#deleted.add(id);
    this.#arrange();
    if (isOpen) this.#onLeave(this.#base);
    toast(gettext("“%(title)s” is deleted", { title: item.querySelector(".title").textContent }), {
      undo: () => {
        show();
        if (isOpen) this.#onLeave(`${this.#base}c/${id}/`);
      },
      keep: async () => {
        try {
          await this.#post(id, "delete");
          this.changed();
        } catch (error) {
          show();
          toast(error.message);
        }
      },
    });
    this.#search.focus({ preventScroll: true }); // the button that had it goes
  }

  /** Go to the search, from anywhere on the page. */
  search() {
    this.#set(true);
    this.#search.focus();
    this.#search.select();
  }

  /** Show the list, or hide it. */
  toggle() {
    byId(byId("sidebar").inert ? "open-sidebar" : "close-sidebar").click();
  }

  /** Close the drawer of narrow screens. */
  close() {
    if (narrow.matches) this.#set(false);
  }

  #set(isOpen) {
    frame.classList.toggle("sidebar-open", narrow.matches && isOpen);
    frame.classList.toggle(COLLAPSED, !narrow.matches && !isOpen);
    byId("open-sidebar")?.setAttribute("aria-expanded", String(isOpen));
    byId("sidebar").inert = !isOpen;
    byId("chat").inert = narrow.matches && isOpen;
  }

  #drawer() {
    const isCollapsed = () => {
      try {
        return localStorage.getItem("sidebar") === "closed";
      } catch {
        return false;
      }
    };
    const choose = (isOpen) => {
      frame.classList.add("sidebar-moves"); // from now on: it stands there when the page opens
      this.#set(isOpen);
      try {
        if (!narrow.matches) localStorage.setItem("sidebar", isOpen ? "open" : "closed");
      } catch {
        /* no storage: the choice lasts until the page is left */
      }
    };
    const reset = () => this.#set(!narrow.matches && !isCollapsed());
    narrow.addEventListener("change", reset);
    const close = () => {
      if (byId("sidebar").inert) return;
      choose(false);
      byId("open-sidebar").focus();
    };
    document.addEventListener("click", ({ target }) => {
      if (!target.closest?.("#open-sidebar")) return; // it comes anew with each conversation
      choose(true);
      byId("close-sidebar").focus();
    });
    byId("close-sidebar").addEventListener("click", close);
    byId("backdrop").addEventListener("click", close);
    byId("sidebar").addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented || !narrow.matches) return;
      event.preventDefault(); // it would stop the answer
      close();
    });
    reset();
  }
}

function localise(time, moment) {
  const isToday = moment.toDateString() === new Date().toDateString();
  time.textContent = isToday
    ? moment.toLocaleTimeString(locale, { timeStyle: "short" })
    : moment.toLocaleDateString(locale, { day: "numeric", month: "short", year: "numeric" });
}
