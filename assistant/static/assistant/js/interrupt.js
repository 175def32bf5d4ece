/* What a run waits for: an approval of a tool call, an answer to a tool's question, or a result from outside. */

import { make } from "./elements.js";
import { schemaForm } from "./form.js";
import { dayOrTime, direction, gettext } from "./i18n.js";
import { label, parse, scalar } from "./values.js";

const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Return the fields for these arguments; null if one of them has none, so that a person would not see it. */
function formOf(interrupt, values) {
  const fields = interrupt.metadata?.form ?? [];
  const names = new Set(fields.map(({ name }) => name));
  return isRecord(values) && fields.length && Object.keys(values).every((name) => names.has(name)) ? fields : null;
}

const changed = ({ label: name, old, new: value }) => [
  make("dt", {}, name),
  old === undefined
    ? make("dd", { dir: "auto" }, scalar(value)) // what is new
    : make("dd", {}, make("del", { dir: "auto" }, scalar(old)), make("span.sr-only.spoken", {}, ` ${gettext("becomes")} `), direction === "rtl" ? " ← " : " → ", make("ins", { dir: "auto" }, scalar(value))),
];

/** Return what the call would change, else its arguments, with the fields' labels. */
function facts(interrupt, values) {
  const changes = interrupt.metadata?.changes;
  if (changes?.length) return make("dl.facts", {}, ...changes.flatMap(changed));
  if (!isRecord(values)) return make("pre", { dir: "auto", tabIndex: 0, hidden: values === "" }, String(values));
  const names = Object.fromEntries((interrupt.metadata?.form ?? []).map((field) => [field.name, field.label]));
  const rows = Object.entries(values).flatMap(([name, value]) => [make("dt", {}, names[name] ?? label(name)), make("dd", { dir: "auto" }, scalar(value))]);
  return make("dl.facts", { hidden: !rows.length }, ...rows);
}

/** What a call waits for whose result comes from outside. `stop` gives it up. */
export class WaitNote {
  constructor(interrupt, stop) {
    const until = interrupt.expiresAt ? gettext("Until %(time)s. If you write something, the assistant goes on without it.", { time: dayOrTime(new Date(interrupt.expiresAt)) }) : "";
    const button = make("button.button", { type: "button" }, gettext("Stop waiting"));
    button.onclick = () => {
      button.disabled = true;
      stop();
    };
    this.element = make("div.approval", {}, make("p.question", { dir: "auto" }, interrupt.message ?? ""), make("p", {}, until), make("div.row", {}, button));
  }

  focus() {}

  askAgain() {}
}

/** The form of one interrupt. `decide` is called with the payload of a `resume` entry. */
export class InterruptForm {
  #interrupt;
  #values;
  #decide;
  #body = make("div.ways");
  #buttons = make("div.row");
  #problem = make("p.notice.error", { role: "alert", hidden: true });
  #read = null;

  /** `values()` returns the arguments of the call. */
  constructor(interrupt, values, decide) {
    this.#interrupt = interrupt;
    this.#values = values;
    this.#decide = decide;
    const isQuestion = (this.isQuestion = interrupt.reason === "input_required");
    const asked = make("p.question", { dir: "auto" }, interrupt.message ?? gettext("May the assistant do this?"));
    this.element = make("form.approval", { noValidate: true, "aria-label": isQuestion ? gettext("Question") : gettext("Approval") }, asked, this.#body, this.#problem, this.#buttons);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      const payload = this.#read();
      if (!payload) return;
      for (const control of this.element.elements) control.disabled = true;
      this.#decide(payload);
    });
    this.element.addEventListener("input", () => this.#show(""));
    if (isQuestion) this.#question();
    else this.#approval();
  }

  /** Show why the server refused the decision, and take another. */
  askAgain(reason) {
    for (const control of this.element.elements) control.disabled = false;
    this.#show(reason);
  }

  focus() {
    this.element.querySelector("input, select, textarea, button")?.focus({ preventScroll: true });
  }

  #show(problem) {
    this.#problem.textContent = problem;
    this.#problem.hidden = !problem;
  }

  #set(parts, read, ...buttons) {
    this.#show("");
    this.#body.replaceChildren(...parts);
    this.#read = read;
    this.#buttons.replaceChildren(...buttons);
    const first = this.#body.querySelector("input, select, textarea");
    if (first && this.element.isConnected) first.focus();
  }

  #button(text, act, kind = "") {
    return make(`button.button${kind}`, act ? { type: "button", onclick: act } : { type: "submit" }, text);
  }

  #question() {
    const { element, read } = schemaForm(this.#interrupt.metadata?.form ?? []);
    const skip = this.#button(gettext("Do not answer"), () => this.#reject());
    this.#set([element], read, this.#button(gettext("Answer"), null, ".primary"), skip);
  }

  #approval() {
    const edit = this.#button(gettext("Edit arguments"), () => this.#edit());
    const respond = this.#button(gettext("Answer instead"), () => this.#respond());
    const reject = this.#button(gettext("Reject"), () => this.#reject());
    const parts = [facts(this.#interrupt, this.#values())];
    this.#set(parts, () => ({ approved: true }), this.#button(gettext("Approve"), null, ".primary"), edit, respond, reject);
  }

  #back() {
    const back = this.isQuestion ? () => this.#question() : () => this.#approval();
    return this.#button(gettext("Back"), () => {
      back();
      this.#buttons.querySelector("button").focus();
    });
  }

  #edit() {
    const values = this.#values();
    const fields = formOf(this.#interrupt, values);
    const approve = this.#button(gettext("Approve with these"), null, ".primary");
    if (fields) {
      const { element, read } = schemaForm(fields, values);
      const edited = () => {
        const editedArgs = read();
        return editedArgs && { approved: true, editedArgs };
      };
      this.#set([element], edited, approve, this.#back());
      return;
    }
    const box = make("textarea.code-value", { rows: 5, spellcheck: false, value: JSON.stringify(values, null, 2) });
    const read = () => {
      const editedArgs = parse(box.value);
      if (isRecord(editedArgs)) return { approved: true, editedArgs };
      this.#show(gettext('The arguments must be a JSON object, such as {"name": "value"}.'));
      return null;
    };
    this.#set([make("label.field", {}, make("span", {}, gettext("Arguments (JSON)")), box)], read, approve, this.#back());
  }

  #respond() {
    const box = make("textarea", { rows: 3, maxLength: 200_000 });
    const read = () => {
      const response = box.value.trim();
      if (response) return { approved: true, response };
      this.#show(gettext("Say what the result is."));
      return null;
    };
    const field = make("label.field", {}, make("span", {}, gettext("Result to use instead of running the tool")), box);
    this.#set([field], read, this.#button(gettext("Give this answer"), null, ".primary"), this.#back());
  }

  #reject() {
    const reason = make("input", { maxLength: 1000, autocomplete: "off" });
    const read = () => (reason.value.trim() ? { approved: false, reason: reason.value.trim() } : { approved: false });
    const field = make("label.field", {}, make("span", {}, gettext("Reason, for the assistant (optional)")), reason);
    this.#set([field], read, this.#button(gettext("Reject"), null, ".danger"), this.#back());
  }
}
