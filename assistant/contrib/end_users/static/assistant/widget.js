/* The element <tenant-assistant>, which embeds a tenant's assistant in a page of an allowed origin. See docs/widget.md. */

import { direction, gettext, language } from "./js/i18n.js";
import { isEmpty } from "./js/shared.js";
import { Conversation } from "./widget/conversation.js";
import { icon, make } from "./widget/elements.js";
import { WidgetConnection } from "./widget/connection.js";
import { showLogo } from "./widget/media.js";
import { Panel } from "./widget/panel.js";
import { sheet } from "./widget/style.js";

const HOME = new URL(import.meta.url).origin;

/** The widgets that open from a button, one at a time. */
const floating = () => [...document.querySelectorAll("tenant-assistant:not([inline])")];

const AI_NOTICE = gettext("You are talking with an AI, not with a person. Its answers are generated and can be wrong.");

class TenantAssistant extends HTMLElement {
  #panel = null;
  #connection = null;
  #launcher = null;
  #conversation = null;
  #notices = {}; // what shows each, by name
  #scripts = {};
  #parts = null; // ends what optional apps have added to the message box

  connectedCallback() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.#panel = new Panel({
      send: (text, files) => this.#conversation?.sendText(text, files) ?? false,
      stop: () => this.#conversation?.stop(),
      fresh: () => this.#begin(null),
      close: () => this.close(),
    });
    const place = make("div.root", { lang: language, dir: direction }, this.#panel.element);
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
    this.#panel.remove();
    this.#connection?.close();
    this.#connection = this.#conversation = null;
    this.#notices = {};
    this.#parts?.abort();
    this.#parts = null;
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
    if (!this.#connection) this.#connect();
    this.#panel.toEnd();
    this.#panel.focus();
  }

  close() {
    if (!this.isOpen || !this.#launcher) return;
    this.#show(false);
    this.#launcher.focus();
  }

  #show(isOpen) {
    const name = this.getAttribute("name") ?? gettext("the assistant");
    this.#panel.element.hidden = !isOpen;
    for (const notice of Object.values(this.#notices)) notice.look();
    this.#launcher.setAttribute("aria-expanded", String(isOpen));
    this.#launcher.setAttribute("aria-label", isOpen ? gettext("Close %(name)s", { name }) : gettext("Open %(name)s", { name }));
    this.#launcher.replaceChildren(icon(isOpen ? "close" : "chat"));
  }

  #connect() {
    const tokenUrl = new URL(this.getAttribute("token-url") ?? "", location.href);
    tokenUrl.searchParams.set("assistant", this.getAttribute("assistant") ?? "");
    const panel = this.#panel;
    this.#connection = new WidgetConnection({
      tokenUrl,
      server: this.getAttribute("server") || HOME,
      listener: {
        opened: ({ assistant, brand = {}, files, notices: scripts = {}, is_member: isMember, composer_parts: parts = [] }) => {
          this.#connection.files = files;
          if (files) import("./widget/uploads.js").then(({ allowFiles }) => allowFiles(panel, this.#connection, files));
          if (!this.getAttribute("name")) panel.name = brand.name || assistant.name;
          panel.welcome(this.#greeting(assistant.greetings ?? {}, brand.greeting, isMember ? assistant.starters : {}));
          const notices = assistant.notices ?? {};
          panel.sayAi(notices[language] || notices.default || brand.ai_notice || AI_NOTICE, brand.ai_notice_place);
          this.#dress(brand);
          this.#conversation?.opened();
          this.#scripts = scripts;
          if (parts.length && !this.#parts) this.#addParts(parts);
          for (const name of Object.keys(scripts)) this.#connection.send({ type: name });
        },
        received: (event) => (Object.hasOwn(this.#scripts, event.name) && !event.metadata ? this.#showNotice(event.name, event.value) : this.#conversation?.received(event)),
        changed: (state) => {
          panel.showState(state);
          this.#conversation?.changed();
        },
      },
    });
    this.#begin(this.#stored());
    this.#connection.connect();
  }

  /** Let optional apps add to the message box. */
  async #addParts(given) {
    const { signal } = (this.#parts = new AbortController());
    const connection = this.#connection;
    const { ComposerParts } = await import("./js/composer_parts.js");
    const absolute = (address) => new URL(address, connection.server).href;
    const parts = given.map((part) => ({ ...part, script: absolute(part.script), url: absolute(part.url) }));
    const options = { ...this.#panel.message, headers: () => ({ Authorization: `Bearer ${connection.token}` }) };
    const added = new ComposerParts(parts, options, signal);
    connection.added = (text) => added.forwarded(text);
  }

  /** Show what a notice of an app lists, such as the alarms that ring, and at the button that there is something. */
  async #showNotice(name, value) {
    if (!this.#notices[name] && isEmpty(value)) return;
    const { default: Notice } = await import(new URL(this.#scripts[name], this.#connection.server));
    const panel = this.#panel;
    if (!this.#notices[name]) {
      this.#notices[name] = new Notice({
        send: (frame) => this.#connection?.send(frame),
        announce: (text) => panel.announce(text),
        focus: () => panel.focus(),
        open: (id) => this.#begin(id),
        current: () => this.#conversation.id,
        isShown: () => !panel.element.hidden && !document.hidden,
      });
      panel.addNotice(this.#notices[name].element);
    }
    this.#notices[name].show(value);
    this.#launcher?.classList.toggle("rings", Object.values(this.#notices).some((notice) => notice.count > 0));
  }

  /** What the host's page greets its visitors with, or the assistant or the tenant does. Its own starters are for members. */
  #greeting(own, ofBrand, ofAssistant) {
    const starters = this.#inLanguage("starters")?.split("|").map((text) => text.trim()) ?? ofAssistant[language] ?? ofAssistant.default ?? [];
    const greeting = this.#inLanguage("greeting") ?? (own[language] || own.default || ofBrand || gettext("How can I help?"));
    return { greeting, starters: starters.filter(Boolean) };
  }

  /** The attribute in the visitor's language, such as `greeting-de`, else the one for all. */
  #inLanguage(name) {
    return this.getAttribute(`${name}-${language}`) ?? this.getAttribute(name);
  }

  /** Show the tenant's logo and colours. A colour that the page sets itself comes first. */
  #dress({ logo, colours }) {
    const { style } = this.shadowRoot.querySelector(".root");
    const isSet = getComputedStyle(this).getPropertyValue("--tenant-assistant-accent").trim();
    for (const theme of colours && !isSet ? ["light", "dark"] : []) {
      style.setProperty(`--brand-${theme}`, colours[theme].accent);
      style.setProperty(`--brand-on-${theme}`, colours[theme].text);
    }
    if (logo) showLogo(this.#panel.logo, new URL(logo, this.#connection.server));
  }

  #begin(id) {
    this.#panel.log.replaceChildren();
    this.#panel.showWelcome();
    this.#store(id);
    this.#conversation = new Conversation({
      connection: this.#connection,
      panel: this.#panel,
      id,
      remember: (thread) => (thread ? this.#store(thread) : this.#begin(null)),
    });
    this.#conversation.changed();
  }

  // So a conversation continues on the site's next page. Its messages are on the server only.

  get #key() {
    const whose = ["server", "token-url", "assistant"].map((name) => this.getAttribute(name) ?? "");
    return `tenant-assistant:${whose.join(" ")}`;
  }

  #stored() {
    try {
      return sessionStorage.getItem(this.#key);
    } catch {
      return null; // without storage the next page starts a new conversation
    }
  }

  #store(id) {
    try {
      sessionStorage.setItem(this.#key, id ?? "");
    } catch {
      /* no storage, as above */
    }
  }
}

customElements.define("tenant-assistant", TenantAssistant);
