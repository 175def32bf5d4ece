/* A tool call as one line, which opens into its arguments, progress, duration and result; and what it waits for. */

import { icon, make } from "./elements.js";
import { gettext, listed, locale } from "./i18n.js";
import { TOOL_STATES, duration, inLocalTime, isPending, touch } from "./shared.js";
import { brief, isNothing, label, parse, shown } from "./values.js";

const UNFINISHED = new Set(["preparing", "running", "awaiting_approval", "approved", "pending"]);
// The states of calls that the run has ended for.
const WAITS = new Set(["awaiting_approval", "pending"]);
const FORMS = { ok: "check", error: "cross", timeout: "cross", awaiting_approval: "ask", pending: "ring", preparing: "ring", running: "ring", approved: "ring" };
// How a call that had timed out ended later; other ends are told by their state.
const LATE_ENDS = { ok: gettext("Timed out, completed later"), error: gettext("Timed out, failed later") };
// The card opens if the call runs for longer than this, in milliseconds.
const OPEN_AFTER = 500;
// A shorter call is not told its time, in milliseconds.
const WORTH_SAYING = 1000;

/** Return the name of the icon of a state: states are told apart by their forms and words, not by colour alone. */
export const formOfState = (state) => FORMS[state] ?? "slash";

// What asks people is loaded with the first tool, so that it is there when it is needed.
let asking = null;
const loadAsking = () => (asking ??= import("./interrupt.js").catch(() => (asking = null)));

/** Asks about a run's open interrupts in the cards of their calls, and hands the decisions over once all are made. */
export class Decisions {
  #made = new Map();

  /** `card(id)` returns the card of a call. `actions`: resume(entries), stopWaiting(), and decided(), after each decision. */
  ask(interrupts, card, actions) {
    const made = (this.#made = new Map());
    const asked = interrupts.filter((interrupt) => !isPending(interrupt));
    for (const interrupt of interrupts) {
      const { id, toolCallId } = interrupt;
      card(toolCallId ?? id).ask(interrupt, (payload) => {
        if (isPending(interrupt)) return actions.stopWaiting();
        made.set(id, { interruptId: id, status: "resolved", payload });
        actions.decided?.();
        if (made.size === asked.length) actions.resume([...made.values()]);
      });
    }
  }

  /** Show why the server refused the decisions, and ask for all of them again. */
  askAgain(cards, reason) {
    this.#made.clear();
    for (const card of cards) card.askAgain(reason);
  }
}

export class ToolCard {
  #arguments = [];
  #state = "preparing";
  #duration = null;
  #progress = null;
  #result;
  #display;
  #areArgumentsStale = true;
  #isResultStale = false;
  #late = "";
  #hasAgent = false;
  #askedArguments = [];
  #wasToggled = false;
  #timer = 0;
  #form = null;
  #asked = null; // the interrupt that waits for a decision
  #sign = make("span.sign");
  #name = make("span.tool-name", { dir: "auto" });
  #brief = make("span.tool-brief", { dir: "auto" });
  #time = make("span.tool-time");
  #stateText = make("span.tool-state.state");
  #bar = make("progress");
  #progressText = make("span");
  #progressLine = make("p.tool-progress", { hidden: true }, this.#bar, " ", this.#progressText);
  #argumentsPart = make("section.tool-arguments", {}, make("h3", {}, gettext("Arguments")), make("div.value"));
  #resultPart = make("section.tool-result", { hidden: true }, make("h3", {}, gettext("Result")), make("div.value"));
  #body = make("div.tool-body", {}, this.#progressLine, this.#argumentsPart, this.#resultPart);

  /** Files that the tool returned are shown elsewhere: the card is closed. */
  constructor(id, name) {
    this.id = id;
    this.name = name;
    this.title = label(name);
    this.group = null;
    const summary = make("summary", {}, this.#sign, this.#name, this.#brief, this.#time, this.#stateText, icon("chevron"));
    summary.addEventListener("click", () => (this.#wasToggled = true));
    this.element = make("details.tool", { "data-state": "preparing", "data-call": id }, summary, this.#body);
    cards.set(this.element, this);
    loadAsking();
    touch(this);
  }

  get isFinished() {
    return !UNFINISHED.has(this.#state);
  }

  get state() {
    return this.#state;
  }

  get asksQuestion() {
    return this.#asked?.reason === "input_required";
  }

  /** The state in words. */
  get stateText() {
    if (this.#state === "awaiting_approval" && this.asksQuestion) return gettext("Needs your answer");
    if (this.#isEmpty) return gettext("Nothing found");
    return this.#late || (TOOL_STATES[this.#state] ?? this.#state);
  }

  get milliseconds() {
    return this.#duration ?? 0;
  }

  get argumentsValue() {
    return parse(this.#arguments.join(""));
  }

  get #isEmpty() {
    return this.#state === "ok" && isNothing(this.#display ?? this.resultValue);
  }

  /** Why a call was refused, where people are told; else undefined. */
  get #whyRefused() {
    return this.#state === "refused" && typeof this.#display === "string" ? inLocalTime(this.#display) : undefined;
  }

  /** The value that the tool returned; undefined if there is none yet. */
  get resultValue() {
    return this.#result === undefined ? undefined : parse(this.#result);
  }

  setTitle(title) {
    if (!title) return;
    this.title = title;
    touch(this);
  }

  setArguments(text) {
    this.#arguments = [text];
    this.#areArgumentsStale = true;
    touch(this);
  }

  addArguments(delta) {
    this.#arguments.push(delta);
    this.#areArgumentsStale = true;
    touch(this);
  }

  /** The call begins in the message `of`; `title` is its tool's name for people, if it has one. */
  begin(of, title) {
    this.of = of;
    this.setTitle(title);
  }

  start(title) {
    this.setTitle(title);
    this.#set("running");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#state === "running" && !this.#wasToggled) this.element.open = true;
    }, OPEN_AFTER);
  }

  progress({ done, total, message }) {
    this.#progress = { done, total, message };
    touch(this);
  }

  finish({ status, durationMs, display, title }) {
    this.setTitle(title);
    if (durationMs !== undefined) this.#duration = durationMs;
    if (display !== undefined) {
      this.#display = display;
      this.#isResultStale = this.#areArgumentsStale = true;
    }
    this.#progress = null;
    this.#set(status ?? "ok");
    this.#fold();
  }

  /** Show how a call ended that had timed out. */
  late({ status, durationMs, content }) {
    this.#late = LATE_ENDS[status] ?? TOOL_STATES[status];
    this.#duration = durationMs;
    this.result(content);
  }

  result(content) {
    this.#result = content;
    this.#isResultStale = true;
    if (!this.isFinished) this.#set("ok");
    this.#fold();
    touch(this);
  }

  #set(state) {
    this.#state = state;
    touch(this);
  }

  #fold() {
    clearTimeout(this.#timer);
    if (!this.#wasToggled) this.element.open = false;
  }

  flush() {
    const { element } = this;
    if (element.dataset.state !== this.#state || !this.#sign.firstChild) this.#sign.replaceChildren(icon(formOfState(this.#state)));
    element.dataset.state = this.#state;
    element.toggleAttribute("data-nothing", this.#isEmpty);
    this.#name.textContent = this.title;
    this.#stateText.textContent = this.stateText;
    this.#time.textContent = this.#duration >= WORTH_SAYING ? duration(this.#duration) : "";
    if (this.#areArgumentsStale) this.#showArguments();
    if (this.#isResultStale) this.#showResult();
    if (this.#state === "refused") this.#offer();
    this.#showProgress();
    this.group?.change();
  }

  #showArguments() {
    this.#areArgumentsStale = false;
    const value = this.argumentsValue;
    this.#brief.textContent = this.#whyRefused ?? brief(value);
    const isEmpty = value === "" || (typeof value === "object" && value !== null && !Object.keys(value).length);
    this.#argumentsPart.hidden = isEmpty;
    if (!isEmpty) this.#argumentsPart.lastChild.replaceChildren(shown(value));
  }

  #showResult() {
    this.#isResultStale = false;
    const value = this.#whyRefused ?? this.#display ?? this.resultValue;
    if (value === undefined || value === null) return;
    // A delegate's answer is already shown in the card as it was streamed.
    this.#resultPart.hidden = this.#hasAgent && this.#state === "ok" && typeof value === "string";
    this.#resultPart.lastChild.replaceChildren(shown(value));
  }

  /** Show what an optional app offers on refused calls, as the entry of the conversation's menu says. */
  #offer() {
    const entry = document.querySelector("[data-offers-refused]");
    if (!entry || this.#body.querySelector(":scope > .offer")) return;
    const wanted = () => dispatchEvent(new CustomEvent("tool-wanted", { detail: { tool: this.name } }));
    this.#body.append(make("button.button.offer", { type: "button", onclick: wanted }, entry.textContent));
  }

  #showProgress() {
    this.#progressLine.hidden = !this.#progress;
    if (!this.#progress) return;
    const { done, total, message } = this.#progress;
    if (total) {
      this.#bar.max = total;
      this.#bar.value = done;
    } else {
      this.#bar.removeAttribute("value");
    }
    this.#progressText.textContent = message ?? (total ? gettext("%(done)s of %(total)s", { done, total }) : "");
  }

  /** Add the delegate `name`, which this call runs. Returns the element for its messages and tool calls. */
  addAgent(element, name) {
    this.#hasAgent = true;
    this.setTitle(name);
    this.#body.insertBefore(element, this.#resultPart);
    return element.querySelector(".items");
  }

  /** Ask what an interrupt is about. `decide` is called with the payload of a `resume` entry; of a call that waits for its result
   * to give that up. */
  async ask(interrupt, decide) {
    const isAsked = Boolean(this.#asked);
    this.#asked ??= interrupt;
    this.setTitle(interrupt.metadata?.title);
    this.#set(isPending(interrupt) ? "pending" : "awaiting_approval");
    if (isAsked) return;
    this.element.open = true;
    this.#askedArguments = this.#arguments;
    const loaded = await loadAsking();
    if (this.#asked !== interrupt) return; // decided meanwhile, elsewhere
    if (!loaded) return this.progress({ message: gettext("What is asked could not be loaded. Reload the page.") });
    if (isPending(interrupt)) {
      this.#form = new loaded.WaitNote(interrupt, decide);
      this.#body.prepend(this.#form.element);
      return touch(this);
    }
    this.#form = new loaded.InterruptForm(interrupt, () => this.argumentsValue, (payload) => {
      if (payload.approved && payload.editedArgs) this.setArguments(JSON.stringify(payload.editedArgs));
      decide(payload);
    });
    // What is asked says it all: the arguments of a question are its form.
    this.element.classList.add("asks");
    this.#body.prepend(this.#form.element);
    touch(this);
  }

  /** Move the focus into the form, unless it is moved elsewhere before that is there. */
  async focus() {
    const root = this.element.getRootNode();
    const focused = root.activeElement;
    await loadAsking();
    if (root.activeElement === focused) this.#form?.focus();
  }

  /** Show why the server refused the decision, and ask again. */
  askAgain(reason) {
    if (!this.#form) return;
    this.#arguments = this.#askedArguments;
    this.#areArgumentsStale = true;
    touch(this);
    this.#form.askAgain(reason);
  }

  /** Remove the form: the call was decided, here or elsewhere. */
  settle() {
    this.#form?.element.remove();
    this.#form = this.#asked = null;
    this.element.classList.remove("asks");
    if (WAITS.has(this.#state)) this.#set("running");
  }
}

const cards = new WeakMap();

/* Several calls in a row are one line, which opens into their cards. */

const groups = new WeakMap();

class Activity {
  #cards = [];
  #sign = make("span.sign");
  #names = make("span.tool-name", { dir: "auto" });
  #time = make("span.tool-time");
  #state = make("span.tool-state.state");
  #body = make("div.activity-body");
  #wasToggled = false;

  constructor() {
    const summary = make("summary", {}, this.#sign, this.#names, this.#time, this.#state, icon("chevron"));
    summary.addEventListener("click", () => (this.#wasToggled = true));
    this.element = make("details.activity", {}, summary, this.#body);
    groups.set(this.element, this);
  }

  add(card) {
    this.#cards.push(card);
    card.group = this;
    this.#body.append(card.element);
    this.change();
  }

  change() {
    touch(this);
  }

  /** Return the state to show, which is the most urgent one, and how many calls have it. */
  get #worst() {
    const of = (test) => this.#cards.filter(test).length;
    const waiting = of(({ state }) => state === "awaiting_approval");
    if (waiting) return ["awaiting_approval", waiting];
    const pending = of(({ state }) => state === "pending");
    const running = of(({ isFinished }) => !isFinished);
    if (pending && pending === running) return ["pending", pending];
    if (running) return ["running", running];
    const failed = this.#cards.filter(({ state }) => state !== "ok");
    return failed.length ? [failed[0].state, failed.length] : ["ok", 0];
  }

  flush() {
    const [state, count] = this.#worst;
    const names = new Map();
    for (const { title } of this.#cards) names.set(title, (names.get(title) ?? 0) + 1);
    this.#names.textContent = listed([...names].map(([title, times]) => (times > 1 ? `${title} × ${times}` : title)));
    const milliseconds = this.#cards.reduce((sum, card) => sum + card.milliseconds, 0);
    this.#time.textContent = state === "running" || milliseconds < WORTH_SAYING ? "" : duration(milliseconds);
    const isPart = count && count < this.#cards.length;
    const words = this.#cards.find((card) => card.state === state)?.stateText ?? TOOL_STATES[state] ?? state;
    this.#state.textContent = isPart ? gettext("%(count)s of %(total)s: %(state)s", { count, total: this.#cards.length, state: words.toLocaleLowerCase(locale) }) : words;
    if (this.element.dataset.state !== state) this.#sign.replaceChildren(icon(formOfState(state)));
    this.element.dataset.state = state;
    if (WAITS.has(state)) this.element.open = true;
    else if (!this.#wasToggled) this.element.open = false;
  }
}

/** Put a card at the end of `items`, into one line with the calls directly before it. */
export function placeCard(items, card) {
  if (card.element.isConnected) return;
  const last = items.lastElementChild;
  const known = last && (groups.get(last) ?? null);
  if (known) {
    known.add(card);
  } else if (last && cardOf(last)) {
    const group = new Activity();
    last.replaceWith(group.element);
    group.add(cardOf(last));
    group.add(card);
  } else {
    card.group = null;
    items.append(card.element);
  }
}

/** Return the card of an element, or undefined. */
export const cardOf = (element) => cards.get(element);
