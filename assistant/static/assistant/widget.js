/* <tenant-assistant>: puts a tenant's assistant into a page of any allowed site. See docs/widget.md. */

import { afterFlush } from "./js/moments.js";
import { Conversation } from "./widget/conversation.js";
import { icon, make } from "./widget/elements.js";
import { Line } from "./widget/line.js";
import { Panel } from "./widget/panel.js";
import { sheet } from "./widget/style.js";

const HOME = new URL(import.meta.url).origin;

/** Those that open from a button; their buttons stand side by side, and one is open at a time. */
const floating = () => [...document.querySelectorAll("tenant-assistant:not([inline])")];

class TenantAssistant extends HTMLElement {
  #panel = null;
  #line = null;
  #launcher = null;
  #conversation = null;

  connectedCallback() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.#panel = new Panel({
      send: (text) => this.#conversation?.say(text) ?? false,
      stop: () => this.#conversation?.stop(),
      fresh: () => this.#begin(null),
      close: () => this.close(),
    });
    const place = make("div.root", {}, this.#panel.element);
    root.replaceChildren(place);
    if (this.getAttribute("name")) this.#panel.name = this.getAttribute("name");
    if (this.hasAttribute("inline")) {
      this.#panel.element.querySelector(".close").hidden = true;
      this.#panel.element.setAttribute("role", "region");
      this.#connect();
      return;
    }
    this.#launcher = make("button.launcher", { type: "button", onclick: () => this.toggle() });
    place.append(this.#launcher);
    place.style.setProperty("--place", floating().indexOf(this));
    this.#show(false);
    this.#panel.element.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  disconnectedCallback() {
    this.#line?.close();
    this.#line = this.#conversation = null;
  }

  get isOpen() {
    return Boolean(this.#panel) && !this.#panel.element.hidden;
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open();
  }

  open() {
    if (this.isOpen) return;
    for (const other of floating()) other.close();
    this.#show(true);
    if (!this.#line) this.#connect();
    this.#panel.follow(true);
    this.#panel.focus();
  }

  close() {
    if (!this.isOpen || !this.#launcher) return;
    this.#show(false);
    this.#launcher.focus();
  }

  #show(isOpen) {
    this.#panel.element.hidden = !isOpen;
    this.#launcher.setAttribute("aria-expanded", String(isOpen));
    this.#launcher.setAttribute("aria-label", `${isOpen ? "Close" : "Open"} ${this.getAttribute("name") ?? "the assistant"}`);
    this.#launcher.replaceChildren(icon(isOpen ? "close" : "chat"));
  }

  #connect() {
    const tokenUrl = new URL(this.getAttribute("token-url") ?? "", location.href);
    tokenUrl.searchParams.set("assistant", this.getAttribute("assistant") ?? "");
    const panel = this.#panel;
    this.#line = new Line({
      tokenUrl,
      server: this.getAttribute("server") || HOME,
      listener: {
        opened: ({ assistant }) => {
          if (!this.getAttribute("name")) panel.name = assistant.name;
          panel.welcome(assistant);
          this.#conversation?.opened();
        },
        received: (event) => this.#conversation?.received(event),
        changed: (state) => {
          panel.line(state);
          this.#conversation?.changed();
        },
      },
    });
    this.#begin(this.#stored());
    this.#line.connect();
  }

  #begin(id) {
    this.#panel.log.replaceChildren();
    this.#panel.showWelcome();
    this.#store(id);
    this.#conversation = new Conversation({
      line: this.#line,
      panel: this.#panel,
      id,
      remember: (thread) => (thread ? this.#store(thread) : this.#begin(null)),
    });
    this.#conversation.changed();
  }

  // Which conversation goes on at the site's next page; what was said stays on the server.

  get #key() {
    const whose = ["server", "token-url", "assistant"].map((name) => this.getAttribute(name) ?? "");
    return `tenant-assistant:${whose.join(" ")}`;
  }

  #stored() {
    try {
      return sessionStorage.getItem(this.#key);
    } catch {
      return null; // without storage a conversation lives as long as its page
    }
  }

  #store(id) {
    try {
      sessionStorage.setItem(this.#key, id ?? "");
    } catch {
      /* as above */
    }
  }

  followText() {
    this.#panel?.follow();
  }
}

customElements.define("tenant-assistant", TenantAssistant);
afterFlush(() => {
  for (const element of document.querySelectorAll("tenant-assistant")) element.followText();
});
