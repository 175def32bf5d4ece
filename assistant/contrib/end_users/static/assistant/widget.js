/* The element <tenant-assistant>, which embeds a tenant's assistant in a page of an allowed origin. See docs/widget.md.
 *
 * This file is its button alone. What the button opens is fetched when it is needed. */

const HOME = new URL(import.meta.url).origin;
const ICONS = { open: "M6 6l12 12M18 6L6 18", closed: "M4 5.5h16v11H11l-5 4v-4H4z" };
// On these windows the panel covers the page, which the visitor has just gone to.
const COVERS = "(max-width: 480px)";

// Sizes are in pixels, because pages redefine rem. `all: initial` keeps the page's own styles out.
const TEXT = `
:host{display:block !important;opacity:1 !important}
:host(:not([inline])){all:initial !important}
:host([hidden]){display:none !important}
:host([inline]){height:544px}
.root{
all:initial;color-scheme:light dark;font:400 15px/1.55 ui-sans-serif,system-ui,sans-serif;
--paper:light-dark(#fff,#1c1b19);--ink:light-dark(#24211d,#ece8e0);
--accent:light-dark(var(--tenant-assistant-accent,var(--brand-light,#0f6b5c)),var(--tenant-assistant-accent-dark,var(--brand-dark,oklch(from var(--tenant-assistant-accent,#63cdb8) max(l,.75) c h))));
--fill:light-dark(var(--brand-fill-light,var(--accent)),var(--brand-fill-dark,var(--accent)));
--on-accent:light-dark(var(--tenant-assistant-on-accent,var(--brand-on-light,#fff)),var(--tenant-assistant-on-accent-dark,var(--brand-on-dark,#10211d)));
--danger:light-dark(#b3261e,#f2938b)
}
:host([theme="light"]) .root{color-scheme:light}
:host([theme="dark"]) .root{color-scheme:dark}
:host(:not([inline])) .root{display:block;position:fixed;inset:var(--tenant-assistant-inset,auto calc(16px + var(--place)*72px) 16px auto);z-index:2147483000}
:host([inline]) .root{display:grid;height:100%;min-height:320px}
.launcher{position:relative;display:grid;place-items:center;width:56px;height:56px;margin-left:auto;padding:0;border:0;border-radius:50%;background:var(--fill);color:var(--on-accent);box-shadow:0 4px 18px rgb(0 0 0 / 25%);font:inherit;cursor:pointer}
.launcher:hover{background:color-mix(in srgb,var(--fill) 88%,#000)}
.launcher:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.launcher svg{display:block;width:22px;fill:none;stroke:currentcolor;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.rings{outline:4px solid color-mix(in srgb,var(--accent) 45%,transparent)}
:is(.rings,.news)::after{content:"";position:absolute;inset-block-start:0;inset-inline-end:0;width:14px;height:14px;border:2px solid var(--paper);border-radius:50%;background:var(--danger)}
@media print{:host(:not([inline])){display:none !important}}
`;
const sheet = new CSSStyleSheet();
sheet.replaceSync(TEXT);

/** The widgets that open from a button, one at a time. */
const floating = () => [...document.querySelectorAll("tenant-assistant:not([inline])")];

/** What a widget keeps its state under: its attributes, and its number among those on the page that have the same. */
function keyOf(widget) {
  const whose = (one) => ["server", "token-url", "assistant"].map((name) => one.getAttribute(name) ?? "").join(" ");
  const place = [...document.querySelectorAll("tenant-assistant")].filter((one) => whose(one) === whose(widget)).indexOf(widget);
  return `tenant-assistant:${whose(widget)}${place > 0 ? ` ${place + 1}` : ""}`;
}

function icon(path) {
  const [svg, drawn] = ["svg", "path"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  drawn.setAttribute("d", path);
  svg.append(drawn);
  return svg;
}

class TenantAssistant extends HTMLElement {
  #place = null;
  #launcher = null;
  #isOpen = false;
  #isNamed = false; // in the visitor's language, when the page has time for it
  #loaded = null; // a promise of the panel
  #panel = null;
  #events = null;
  #key = ""; // in the tab's storage

  connectedCallback() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.#place = document.createElement("div");
    this.#place.className = "root";
    root.replaceChildren(this.#place);
    this.#events = new AbortController();
    this.#key = keyOf(this);
    addEventListener("pagehide", () => this.#leave(), { signal: this.#events.signal });
    const kept = this.#kept;
    this.#dress(kept.colours);
    if (this.hasAttribute("inline")) {
      this.#load();
      return;
    }
    this.#launcher = document.createElement("button");
    this.#launcher.className = "launcher";
    this.#launcher.type = "button";
    this.#launcher.addEventListener("click", () => this.toggle());
    for (const kind of ["pointerenter", "focus"]) this.#launcher.addEventListener(kind, () => import("./widget/whole.js"), { once: true });
    this.#place.append(this.#launcher);
    this.#place.style.setProperty("--place", floating().indexOf(this));
    this.#launcher.classList.toggle("news", Boolean(kept.hasNews));
    this.#show(false);
    if (kept.isOpen && !matchMedia(COVERS).matches) this.#open(false);
    else if (kept.isAwaited) this.#load();
    else
      (globalThis.requestIdleCallback ?? setTimeout)(() => {
        this.#isNamed = true;
        this.#name();
      });
  }

  disconnectedCallback() {
    this.#leave();
    this.#events.abort();
    this.#panel?.remove();
    this.#panel = this.#loaded = this.#launcher = null;
    this.#isOpen = false;
  }

  get isOpen() {
    return this.#isOpen || this.hasAttribute("inline");
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open();
  }

  open() {
    this.#open(true);
  }

  close() {
    if (!this.#isOpen) return;
    this.#show(false);
    this.#keep({ isOpen: false });
    this.#panel?.close();
    this.#launcher.focus();
  }

  async #open(takesFocus) {
    if (this.isOpen) return;
    for (const other of floating()) other.close();
    this.#show(true);
    this.#launcher.classList.remove("news");
    this.#keep({ isOpen: true, hasNews: false });
    try {
      const panel = await this.#load();
      if (this.#isOpen && panel === this.#panel) panel.open(takesFocus);
    } catch (error) {
      console.error(error);
      this.#loaded = null; // offline: the next press tries again
      if (this.#launcher) this.#show(false);
    }
  }

  /** Fetch the panel and connect it. */
  #load() {
    this.#loaded ??= import("./widget/whole.js").then(({ Whole }) => {
      if (!this.isConnected) return null;
      this.#panel ??= new Whole({
        host: this,
        place: this.#place,
        home: HOME,
        kept: this.#kept,
        keep: (values) => this.#keep(values),
        dress: (colours) => {
          this.#keep({ colours });
          this.#dress(colours);
        },
        news: () => {
          if (this.isOpen) return;
          this.#keep({ hasNews: true });
          this.#launcher.classList.add("news");
          this.#name();
        },
        rings: (isOn) => this.#launcher?.classList.toggle("rings", isOn),
      });
      this.#name();
      return this.#panel;
    });
    return this.#loaded;
  }

  #show(isOpen) {
    this.#isOpen = isOpen;
    this.#launcher.setAttribute("aria-expanded", String(isOpen));
    this.#launcher.replaceChildren(icon(isOpen ? ICONS.open : ICONS.closed));
    this.#name();
  }

  /** Say in the visitor's language what the button does. */
  async #name() {
    if (!this.#launcher) return;
    if (!this.#launcher.ariaLabel) this.#launcher.ariaLabel = this.getAttribute("name") ?? "Assistant";
    if (!this.#isNamed && !this.#loaded) return;
    const { direction, gettext, language } = await import("./js/i18n.js");
    if (!this.#launcher) return;
    Object.assign(this.#place, { lang: language, dir: direction });
    const name = this.getAttribute("name") ?? gettext("the assistant");
    const whole = this.#isOpen ? gettext("Close %(name)s", { name }) : gettext("Open %(name)s", { name });
    this.#launcher.ariaLabel = this.#launcher.classList.contains("news") ? `${whole}: ${gettext("New answer")}` : whole;
  }

  /** Show the tenant's colours. A colour that the page sets itself comes first. */
  #dress(colours) {
    const { style } = this.#place;
    const isSet = getComputedStyle(this).getPropertyValue("--tenant-assistant-accent").trim();
    for (const theme of colours && !isSet ? ["light", "dark"] : []) {
      style.setProperty(`--brand-${theme}`, colours[theme].accent);
      style.setProperty(`--brand-fill-${theme}`, colours[theme].fill);
      style.setProperty(`--brand-on-${theme}`, colours[theme].text);
    }
  }

  // What the next page of the site, or of its router, goes on with, until the tab is closed. Messages are on the server only.

  #leave() {
    if (this.#panel) this.#keep(this.#panel.left());
  }

  get #kept() {
    try {
      return JSON.parse(sessionStorage.getItem(this.#key)) ?? {};
    } catch {
      return {}; // without storage the next page begins anew
    }
  }

  #keep(values) {
    try {
      sessionStorage.setItem(this.#key, JSON.stringify({ ...this.#kept, ...values }));
    } catch {
      /* no storage, as above */
    }
  }
}

customElements.define("tenant-assistant", TenantAssistant);
