/* A tool call as a card: its name, arguments, state, progress, duration and result; and the question for approval. */

import { piece, touch } from "./dom.js";
import { brief, mediaShown, parse, shown } from "./values.js";

const STATES = {
  preparing: "Preparing",
  running: "Running",
  ok: "Done",
  error: "Failed",
  refused: "Refused",
  timeout: "Timed out",
  cancelled: "Stopped",
  declined: "Rejected",
  interrupted: "Interrupted",
  awaiting_approval: "Needs your approval",
};
const UNFINISHED = new Set(["preparing", "running", "awaiting_approval"]);
// A card opens only for calls that take long enough to be read.
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

  #part(selector) {
    return this.element.querySelector(selector);
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
    this.#part(".tool-state").textContent = STATES[this.#state] ?? this.#state;
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
    this.#part(".tool-result").hidden = false;
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

  /** Ask whether the call may run; `decide` is given the payload of a resume entry. */
  ask(question, decide) {
    this.#set("awaiting_approval");
    if (this.#part(".approval")) return;
    this.element.open = true;
    this.#part(".tool-body").append(approvalForm(question, () => this.argumentsValue, (payload) => {
      if (payload.approved && payload.editedArgs) this.setArguments(JSON.stringify(payload.editedArgs));
      decide(payload);
    }));
  }

  /** Take the question away: it has been answered, here or elsewhere. */
  settle() {
    this.#part(".approval")?.remove();
    if (this.#state === "awaiting_approval") this.#set("running");
  }
}

function approvalForm(question, currentArguments, decide) {
  const form = piece("approval");
  const button = (choice) => form.querySelector(`[data-choice=${choice}]`);
  const edit = form.querySelector(".edit");
  const reason = form.querySelector(".reason");
  const problem = form.querySelector(".error");
  form.querySelector(".question").textContent = question;

  const done = (payload) => {
    for (const control of form.elements) control.disabled = true;
    decide(payload);
  };
  const edited = () => {
    const value = parse(edit.querySelector("textarea").value);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!reason.hidden) {
      const text = reason.querySelector("input").value.trim();
      done(text ? { approved: false, reason: text } : { approved: false });
    } else if (edit.hidden) {
      done({ approved: true });
    } else if (edited()) {
      done({ approved: true, editedArgs: edited() });
    } else {
      problem.textContent = "The arguments must be a JSON object, such as {\"name\": \"value\"}.";
      problem.hidden = false;
    }
  });
  button("edit").addEventListener("click", () => {
    const area = edit.querySelector("textarea");
    area.value = JSON.stringify(currentArguments(), null, 2);
    edit.hidden = false;
    button("edit").hidden = true;
    button("approve").textContent = "Approve with these";
    area.focus();
  });
  button("reject").addEventListener("click", () => {
    const isRejecting = reason.hidden; // pressed again, it leads back
    edit.hidden = true;
    reason.hidden = !isRejecting;
    button("edit").hidden = isRejecting;
    button("approve").textContent = isRejecting ? "Reject" : "Approve";
    button("approve").className = isRejecting ? "button danger" : "button primary";
    button("reject").textContent = isRejecting ? "Back" : "Reject";
    if (isRejecting) reason.querySelector("input").focus();
  });
  return form;
}
