/* A tool call as a card: name, arguments, state, progress, duration, result, and the form that asks for approval. */

import { piece, touch } from "./dom.js";
import { TOOL_STATES } from "./shared.js";
import { brief, mediaShown, parse, shown } from "./values.js";

const UNFINISHED = new Set(["preparing", "running", "awaiting_approval", "approved"]);
// The card opens if the call runs for longer than this, in milliseconds.
const OPEN_AFTER = 500;

function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export class ToolCard {
  #arguments = [];
  #state = "preparing";
  #duration = null;
  #progress = null;
  #result;
  #display;
  #media = [];
  #areArgumentsStale = true;
  #isResultStale = false;
  #hasAgent = false;
  #askedArguments = [];
  #wasToggled = false;
  #timer = 0;

  constructor(id, name) {
    this.id = id;
    this.name = name;
    this.element = piece("tool");
    this.element.dataset.call = id;
    this.#part(".tool-name").textContent = name;
    this.#part("summary").addEventListener("click", () => (this.#wasToggled = true));
    touch(this);
  }

  get isFinished() {
    return !UNFINISHED.has(this.#state);
  }

  get argumentsValue() {
    return parse(this.#arguments.join(""));
  }

  /** Return a part of this card, never of a card nested in it. */
  #part(selector) {
    const places = ["", "> summary ", "> .tool-body > "].map((place) => `:scope ${place || "> "}${selector}`);
    return this.element.querySelector(places.join(", "));
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

  start() {
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

  finish({ status, durationMs, display, media }) {
    if (durationMs !== undefined) this.#duration = durationMs;
    if (display !== undefined) {
      this.#display = display;
      this.#isResultStale = true;
    }
    if (media?.length) {
      this.#media = media;
      this.#isResultStale = true;
    }
    this.#progress = null;
    this.#set(status ?? "ok");
    this.#fold();
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
    element.dataset.state = this.#state;
    this.#part(".tool-state").textContent = TOOL_STATES[this.#state] ?? this.#state;
    this.#part(".tool-time").textContent = this.#duration === null ? "" : duration(this.#duration);
    if (this.#areArgumentsStale) this.#showArguments();
    if (this.#isResultStale) this.#showResult();
    this.#showProgress();
  }

  #showArguments() {
    this.#areArgumentsStale = false;
    const value = this.argumentsValue;
    this.#part(".tool-brief").textContent = brief(value);
    const isEmpty = value === "" || (typeof value === "object" && value !== null && !Object.keys(value).length);
    this.#part(".tool-arguments").hidden = isEmpty;
    if (!isEmpty) this.#part(".tool-arguments .value").replaceChildren(shown(value));
  }

  #showResult() {
    this.#isResultStale = false;
    const value = this.#display ?? (this.#result === undefined ? undefined : parse(this.#result));
    if ((value === undefined || value === null) && !this.#media.length) return;
    // A delegate's answer is already shown in the card as it was streamed.
    this.#part(".tool-result").hidden = this.#hasAgent && this.#state === "ok" && typeof value === "string";
    const parts = value === undefined || value === null ? [] : [shown(value)];
    this.#part(".tool-result .value").replaceChildren(...this.#media.map(mediaShown), ...parts);
  }

  #showProgress() {
    const line = this.#part(".tool-progress");
    line.hidden = !this.#progress;
    if (!this.#progress) return;
    const { done, total, message } = this.#progress;
    const bar = line.querySelector("progress");
    if (total) {
      bar.max = total;
      bar.value = done;
    } else {
      bar.removeAttribute("value");
    }
    line.querySelector("span").textContent = message ?? (total ? `${done} of ${total}` : "");
  }

  /** Add the delegate `name`, which this call runs. Returns the element for its messages and tool calls. */
  addAgent(element, name) {
    this.#hasAgent = true;
    this.#part(".tool-name").textContent = name;
    this.#part(".tool-body").insertBefore(element, this.#part(".tool-result"));
    return element.querySelector(".items");
  }

  /** Ask whether the call may run. `decide` is called with the payload of a `resume` entry. */
  ask(question, decide) {
    this.#set("awaiting_approval");
    if (this.#part(".approval")) return;
    this.element.open = true;
    this.#askedArguments = this.#arguments;
    this.#part(".tool-body").append(approvalForm(question, () => this.argumentsValue, (payload) => {
      if (payload.approved && payload.editedArgs) this.setArguments(JSON.stringify(payload.editedArgs));
      decide(payload);
    }));
  }

  /** Show why the server refused the decision, and ask again. */
  askAgain(reason) {
    const form = this.#part(".approval");
    if (!form) return;
    this.#arguments = this.#askedArguments;
    this.#areArgumentsStale = true;
    touch(this);
    for (const control of form.elements) control.disabled = false;
    showError(form, reason);
  }

  /** Remove the approval form: the call was decided, here or elsewhere. */
  settle() {
    this.#part(".approval")?.remove();
    if (this.#state === "awaiting_approval") this.#set("running");
  }
}

// The ways to decide: the main button's label, and the field to fill in.
const WAYS = {
  approve: { label: "Approve", field: "" },
  edit: { label: "Approve with these", field: ".edit" },
  respond: { label: "Give this answer", field: ".response" },
  reject: { label: "Reject", field: ".reason" },
};

function showError(form, text) {
  const problem = form.querySelector(".error");
  problem.textContent = text;
  problem.hidden = !text;
}

function approvalForm(question, currentArguments, decide) {
  const form = piece("approval");
  const button = (choice) => form.querySelector(`[data-choice=${choice}]`);
  const input = (field) => form.querySelector(`${field} :is(textarea, input)`);
  let way = "approve";
  form.querySelector(".question").textContent = question;

  const payloads = {
    approve: () => ({ approved: true }),
    edit() {
      const value = parse(input(".edit").value);
      if (value !== null && typeof value === "object" && !Array.isArray(value)) return { approved: true, editedArgs: value };
      return "The arguments must be a JSON object, such as {\"name\": \"value\"}.";
    },
    respond() {
      const response = input(".response").value.trim();
      return response ? { approved: true, response } : "Say what the result is.";
    },
    reject() {
      const reason = input(".reason").value.trim();
      return reason ? { approved: false, reason } : { approved: false };
    },
  };
  const choose = (chosen) => {
    way = chosen;
    showError(form, "");
    for (const [name, { field }] of Object.entries(WAYS)) {
      if (field) form.querySelector(field).hidden = name !== way;
      if (name === "edit" || name === "respond") button(name).hidden = way !== "approve";
    }
    button("approve").textContent = WAYS[way].label;
    button("approve").className = way === "reject" ? "button danger" : "button primary";
    button("reject").textContent = way === "approve" ? "Reject" : "Back";
    if (way === "edit") input(".edit").value = JSON.stringify(currentArguments(), null, 2);
    if (WAYS[way].field) input(WAYS[way].field).focus();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const payload = payloads[way]();
    if (typeof payload === "string") {
      showError(form, payload);
      return;
    }
    for (const control of form.elements) control.disabled = true;
    decide(payload);
  });
  form.addEventListener("input", () => showError(form, ""));
  for (const name of ["edit", "respond"]) button(name).addEventListener("click", () => choose(name));
  button("reject").addEventListener("click", () => choose(way === "approve" ? "reject" : "approve")); // after the first press its label is Back
  return form;
}
