/* The list of conversations, with search, rename and delete. On narrow screens it is a drawer. */

import { announce, byId } from "./dom.js";

const SEARCH_AFTER = 200; // milliseconds after the last keystroke

export class Sidebar {
  #list = byId("conversations");
  #search = byId("search");
  #base;
  #current;
  #onRename;
  #request = 0;

  /** `onRename(title)` is called when the open conversation is renamed. */
  constructor({ base, current, onRename }) {
    this.#base = base;
    this.#current = current;
    this.#onRename = onRename;
    this.#list.addEventListener("click", (event) => this.#clicked(event));
    let timer = 0;
    this.#search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.refresh(), SEARCH_AFTER);
    });
    byId("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.refresh();
    });
    this.#drawer();
    for (const time of this.#list.querySelectorAll("time")) localise(time);
  }

  set current(id) {
    this.#current = id;
  }

  /** Load the list again, with the current search. */
  async refresh() {
    const number = ++this.#request;
    const query = new URLSearchParams({ q: this.#search.value, current: this.#current });
    try {
      const answer = await fetch(`${this.#base}conversations/?${query}`, { redirect: "error" });
      if (!answer.ok || number !== this.#request) return;
      this.#list.innerHTML = await answer.text();
      for (const time of this.#list.querySelectorAll("time")) localise(time);
    } catch {
      /* offline: keep the old list; it is loaded again with the next run */
    }
  }

  async #post(id, what, fields = {}) {
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    const answer = await fetch(`${this.#base}c/${id}/${what}/`, {
      method: "POST",
      headers: { "X-CSRFToken": token },
      body: new URLSearchParams(fields),
      redirect: "error",
    });
    const body = answer.headers.get("content-type")?.includes("json") ? await answer.json() : {};
    if (!answer.ok) throw new Error(body.error ?? "This did not work. Reload the page and try again.");
    return body;
  }

  #clicked(event) {
    const action = event.target.closest("[data-action]")?.dataset.action;
    const item = event.target.closest(".conversation");
    if (action === "rename") this.#rename(item);
    if (action === "delete") this.#delete(item);
  }

  #rename(item) {
    const title = item.querySelector(".title");
    const input = document.createElement("input");
    Object.assign(input, { value: title.textContent, maxLength: 200, className: "rename" });
    input.setAttribute("aria-label", "New title");
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
          announce(`Renamed to ${kept}`);
          if (item.dataset.id === this.#current) this.#onRename(kept);
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

  #delete(item) {
    const dialog = byId("confirm-delete");
    const problem = byId("confirm-error");
    byId("confirm-name").textContent = item.querySelector(".title").textContent;
    problem.hidden = true;
    byId("confirm-yes").onclick = async (event) => {
      event.preventDefault();
      try {
        const { next } = await this.#post(item.dataset.id, "delete");
        dialog.close();
        announce("Conversation deleted");
        if (item.dataset.id === this.#current) location.assign(next);
        else item.remove();
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
    };
    dialog.showModal();
  }

  #drawer() {
    const sidebar = byId("sidebar");
    const narrow = matchMedia("(max-width: 760px)");
    const set = (isOpen) => {
      document.body.classList.toggle("sidebar-open", isOpen);
      byId("open-sidebar").setAttribute("aria-expanded", String(isOpen));
      sidebar.inert = narrow.matches && !isOpen;
      byId("chat").inert = narrow.matches && isOpen;
    };
    narrow.addEventListener("change", () => set(false));
    byId("open-sidebar").addEventListener("click", () => {
      set(true);
      byId("close-sidebar").focus();
    });
    const close = () => {
      if (!document.body.classList.contains("sidebar-open")) return;
      set(false);
      byId("open-sidebar").focus();
    };
    byId("close-sidebar").addEventListener("click", close);
    byId("backdrop").addEventListener("click", close);
    sidebar.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) close();
    });
    set(false);
  }
}

function localise(time) {
  const date = new Date(time.dateTime);
  const isToday = date.toDateString() === new Date().toDateString();
  time.textContent = isToday
    ? date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}
