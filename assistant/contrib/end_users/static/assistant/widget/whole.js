/* What the widget's button opens: the panel, its connection and the open conversation. */

import { direction, gettext, language } from "../js/i18n.js";
import { isEmpty } from "../js/shared.js";
import { WidgetConnection } from "./connection.js";
import { Conversation } from "./conversation.js";
import { showLogo } from "./media.js";
import { Panel } from "./panel.js";
import { sheet } from "./style.js";

const AI_NOTICE = gettext("You are talking with an AI, not with a person. Its answers are generated and can be wrong.");

export class Whole {
  #given;
  #host;
  #panel;
  #connection = null;
  #conversation = null;
  #visitor = ""; // as the server names them
  #isShown; // what was said, at the place that was kept
  #closedAt = null; // the place
  #notices = {}; // what shows each, by name
  #scripts = {};
  #parts = null; // ends what optional apps have added to the message box

  /** `given`: host, the element; place, where the panel stands; home, the origin of the script; kept, what the page before has
   * left; keep(values), for the next one; dress(colours); news(), that an answer came while the panel was closed; rings(isOn). */
  constructor(given) {
    const { host, place, kept, keep } = given;
    this.#given = given;
    this.#host = host;
    host.shadowRoot.adoptedStyleSheets.push(sheet);
    Object.assign(place, { lang: language, dir: direction });
    this.#panel = new Panel({
      send: (text, files) => this.#conversation?.sendText(text, files) ?? false,
      stop: () => this.#conversation?.stop(),
      fresh: () => this.#begin(null),
      close: () => host.close(),
      talks: () => this.#connection.send({ type: "conversations" }),
      choose: (id) => this.#begin(id),
      widen: (isWide) => {
        place.classList.toggle("wide", isWide);
        keep({ isWide });
      },
    });
    this.#panel.isWide = Boolean(kept.isWide);
    place.classList.toggle("wide", this.#panel.isWide);
    this.#isShown = !kept.thread;
    if (host.getAttribute("name")) this.#panel.name = host.getAttribute("name");
    place.prepend(this.#panel.element);
    if (host.hasAttribute("inline")) {
      this.#panel.element.querySelector(".close").hidden = true;
      this.#panel.element.querySelector(".widen").hidden = true;
      this.#panel.element.setAttribute("role", "region");
    } else {
      this.#panel.element.hidden = true;
      this.#panel.element.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && !event.defaultPrevented && !this.#panel.closeLayer()) host.close();
      });
    }
    this.#connect();
  }

  open(takesFocus) {
    const { element } = this.#panel;
    if (!element.hidden) return;
    element.hidden = false;
    for (const notice of Object.values(this.#notices)) notice.look();
    if (this.#isShown) this.#panel.place = this.#closedAt;
    if (takesFocus) this.#panel.focus();
  }

  close() {
    this.#closedAt = this.#panel.place;
    this.#panel.element.hidden = true;
    for (const notice of Object.values(this.#notices)) notice.look();
  }

  remove() {
    this.#panel.remove();
    this.#connection.close();
    this.#parts?.abort();
    this.#panel.element.remove();
  }

  /** Return what the next page goes on with. */
  left() {
    if (!this.#visitor || !this.#isShown) return {}; // it was left before it could show what was kept
    const place = this.#panel.element.hidden ? this.#closedAt : this.#panel.place;
    return { draft: this.#panel.text, visitor: this.#visitor, isAwaited: this.#panel.isBusy, place };
  }

  /** Give the visitor back what they were writing, if they are who wrote it. */
  #meet(visitor) {
    const isFirst = !this.#visitor;
    this.#visitor = visitor;
    const { draft, visitor: before } = this.#given.kept;
    if (!visitor || before !== visitor) this.#forget();
    else if (isFirst && draft && !this.#panel.text) this.#panel.text = draft;
  }

  #forget() {
    this.#given.kept.draft = "";
    this.#given.keep({ draft: "", place: null, isAwaited: false });
  }

  #connect() {
    const tokenUrl = new URL(this.#host.getAttribute("token-url") ?? "", location.href);
    tokenUrl.searchParams.set("assistant", this.#host.getAttribute("assistant") ?? "");
    const panel = this.#panel;
    this.#connection = new WidgetConnection({
      tokenUrl,
      server: this.#host.getAttribute("server") || this.#given.home,
      listener: {
        opened: ({ assistant, brand = {}, files, notices: scripts = {}, is_member: isMember, composer_parts: parts = [], visitor = "" }) => {
          this.#meet(visitor);
          this.#connection.files = files;
          if (files) import("./uploads.js").then(({ allowFiles }) => allowFiles(panel, this.#connection, files));
          if (!this.#host.getAttribute("name")) panel.name = brand.name || assistant.name;
          panel.welcome(this.#greeting(assistant.greetings ?? {}, brand.greeting, isMember ? assistant.starters : {}));
          const notices = assistant.notices ?? {};
          panel.sayAi(notices[language] || notices.default || brand.ai_notice || AI_NOTICE, brand.ai_notice_place);
          if (brand.colours) this.#given.dress(brand.colours);
          if (brand.logo) showLogo(panel.logo, new URL(brand.logo, this.#connection.server));
          this.#conversation?.opened();
          this.#scripts = scripts;
          if (parts.length && !this.#parts) this.#addParts(parts);
          for (const name of Object.keys(scripts)) this.#connection.send({ type: name });
        },
        received: (event) => {
          const isNotice = event.type === "CUSTOM" && !event.metadata;
          if (isNotice && event.name === "conversations") panel.listTalks(event.value.entries, this.#conversation.id);
          else if (isNotice && Object.hasOwn(this.#scripts, event.name)) this.#showNotice(event.name, event.value);
          else this.#conversation?.received(event);
        },
        changed: (state) => {
          panel.showState(state);
          if (state === "signed-out") this.#forget();
          this.#conversation?.changed();
        },
      },
    });
    this.#begin(this.#given.kept.thread || null);
    this.#connection.connect();
  }

  /** Let optional apps add to the message box. */
  async #addParts(given) {
    const { signal } = (this.#parts = new AbortController());
    const connection = this.#connection;
    const { ComposerParts } = await import("../js/composer_parts.js");
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
    this.#given.rings(Object.values(this.#notices).some((notice) => notice.count > 0));
  }

  /** What the host's page greets its visitors with, or the assistant or the tenant does. Its own starters are for members. */
  #greeting(own, ofBrand, ofAssistant) {
    const starters = this.#inLanguage("starters")?.split("|").map((text) => text.trim()) ?? ofAssistant[language] ?? ofAssistant.default ?? [];
    const greeting = this.#inLanguage("greeting") ?? (own[language] || own.default || ofBrand || gettext("How can I help?"));
    return { greeting, starters: starters.filter(Boolean) };
  }

  /** The attribute in the visitor's language, such as `greeting-de`, else the one for all. */
  #inLanguage(name) {
    return this.#host.getAttribute(`${name}-${language}`) ?? this.#host.getAttribute(name);
  }

  #begin(id) {
    this.#panel.log.replaceChildren();
    this.#panel.closeLayer();
    this.#panel.showWelcome();
    this.#given.keep({ thread: id });
    if (!id) this.#isShown = true;
    this.#conversation = new Conversation({
      connection: this.#connection,
      panel: this.#panel,
      id,
      remember: (thread) => (thread ? this.#given.keep({ thread }) : this.#begin(null)),
      ended: (isLive) => {
        const isNews = isLive || this.#given.kept.isAwaited;
        this.#given.kept.isAwaited = false;
        if (isNews) this.#given.news();
      },
      shown: () => this.#restore(),
    });
    this.#conversation.changed();
    if (id && this.#connection.isOpen) this.#conversation.opened();
  }

  /** Return to where the visitor was on the page before. */
  #restore() {
    if (this.#isShown) return;
    this.#isShown = true;
    this.#panel.place = this.#given.kept.place;
  }
}
