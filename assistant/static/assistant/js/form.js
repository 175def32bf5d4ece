/* Draws the form of a JSON Schema. The server reads the schema (toolkit/schema/form.py) and checks what is sent. */

import { make } from "./elements.js";
import { gettext } from "./i18n.js";

// Choices of at most this many values are all in sight.
const MOST_RADIOS = 5;
let made = 0;

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function select(field, value) {
  const control = make("select", {}, make("option", { value: "" }, gettext("Choose…")));
  field.options.forEach((option, index) => {
    control.append(make("option", { value: index, selected: option === value }, textOf(option)));
  });
  return { control, read: () => (control.value === "" ? undefined : field.options[Number(control.value)]) };
}

/** Return radio buttons or checkboxes. `labels` are shown in place of the options. */
function buttons(type, options, isChosen, labels = options.map(textOf)) {
  const name = `choice-${made}`;
  const inputs = options.map((option) => make("input", { type, name, checked: isChosen(option) }));
  const group = make("span.options", {}, ...inputs.map((input, index) => make("label.option", {}, input, make("bdi", {}, labels[index]))));
  return { control: inputs[0], group, chosen: () => options.filter((_, index) => inputs[index].checked) };
}

function radios(options, value, labels) {
  const found = buttons("radio", options, (option) => option === value, labels);
  return { ...found, read: () => found.chosen()[0] };
}

function several(field, value) {
  const found = buttons("checkbox", field.options, (option) => value?.includes(option));
  return { ...found, read: () => (found.chosen().length ? found.chosen() : undefined) };
}

function written(control, value) {
  control.value = value === undefined || value === null ? "" : textOf(value);
  return { control, read: () => (control.value.trim() ? control.value : undefined) };
}

function number(field, value) {
  const step = field.kind === "integer" ? 1 : "any";
  const found = written(make("input", { type: "number", step, inputMode: "decimal" }), value);
  const read = () => {
    if (found.control.validity?.badInput) throw new Error(gettext("This is not a number."));
    if (found.control.value === "") return undefined;
    const given = Number(found.control.value);
    if (field.kind === "integer" && !Number.isInteger(given)) throw new Error(gettext("This must be a whole number."));
    if (given < field.minimum) throw new Error(gettext("This must be at least %(least)s.", { least: field.minimum }));
    if (given > field.maximum) throw new Error(gettext("This must be at most %(most)s.", { most: field.maximum }));
    return given;
  };
  return { ...found, read };
}

function json(value) {
  const found = written(make("textarea.code-value", { rows: 3, spellcheck: false }), undefined);
  found.control.value = value === undefined ? "" : JSON.stringify(value, null, 2);
  const read = () => {
    try {
      return found.control.value.trim() ? JSON.parse(found.control.value) : undefined;
    } catch {
      throw new Error(gettext('This is not JSON such as ["a", "b"].'));
    }
  };
  return { ...found, read };
}

function drawn(field, value) {
  const bounds = field.maxLength ? { maxLength: field.maxLength } : {};
  if (field.kind === "choice") return field.options.length > MOST_RADIOS ? select(field, value) : radios(field.options, value);
  if (field.kind === "several") return several(field, value);
  if (field.kind === "yes_no") return radios([true, false], value, [gettext("Yes"), gettext("No")]);
  if (field.kind === "integer" || field.kind === "number") return number(field, value);
  if (field.kind === "date") return written(make("input", { type: "date" }), value);
  if (field.kind === "json") return json(value);
  return written(field.kind === "lines" ? make("textarea", { rows: 2, ...bounds }) : make("input", { type: "text", autocomplete: "off", ...bounds }), value);
}

/** Return `{element, read}` for the server's fields, filled in with `values`.
 * `read()` returns what was entered, without empty fields; null after it has shown what is wrong. */
export function schemaForm(fields, values = {}) {
  const rows = fields.map((field) => {
    made += 1;
    const about = `about-${made}`;
    const { control, group, read } = drawn(field, values[field.name]);
    const problem = make("small.problem", { role: "alert", hidden: true });
    const help = make("small.help", { dir: "auto", hidden: !field.help }, field.help ?? "");
    const label = make("span.label", {}, make("bdi", {}, field.label), field.required ? "" : make("i", {}, ` ${gettext("(optional)")}`));
    const notes = make("span.notes", { id: about }, help, problem);
    for (const input of (group ?? make("p", {}, control)).querySelectorAll("input, select, textarea")) input.setAttribute("aria-describedby", about);
    const element = group ? make("fieldset.field", {}, make("legend", {}, label), group, notes) : make("label.field", {}, label, control, notes);
    const check = () => {
      let value;
      problem.textContent = "";
      try {
        value = read();
        if (value === undefined && field.required) problem.textContent = gettext("This is needed.");
      } catch (error) {
        problem.textContent = error.message;
      }
      problem.hidden = !problem.textContent;
      control.setAttribute("aria-invalid", String(!problem.hidden));
      return value;
    };
    element.addEventListener("input", () => problem.hidden || check());
    return { field, element, control, problem, check };
  });
  const read = () => {
    const entered = rows.map(({ field, check }) => [field.name, check()]).filter(([, value]) => value !== undefined);
    const wrong = rows.find(({ problem }) => !problem.hidden);
    wrong?.control.focus();
    return wrong ? null : Object.fromEntries(entered);
  };
  return { element: make("div.fields", {}, ...rows.map(({ element }) => element)), read };
}
