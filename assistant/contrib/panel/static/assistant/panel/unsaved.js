// Unsaved work in forms: a warning before it is left, and what was typed comes back after a sign-in.
const STORE = "assistant-unsaved:";
const SENT = "assistant-unsaved-sent";
const form = document.querySelector("#content-main form[method='post']:is([id$='_form'], [id$='-form'], #new-tenant, #limits, .approval-answers):not(#changelist-form)");
// Never kept: secrets, files, and what protects the form itself.
const NOT_KEPT = new Set(["password", "file", "hidden", "submit", "button", "image", "reset"]);

const key = () => STORE + location.pathname;
const fields = () => [...form.elements].filter((one) => one.name && !NOT_KEPT.has(one.type) && one.autocomplete !== "off" && one.autocomplete !== "new-password");
const valueOf = (one) => (one.matches("[type=checkbox], [type=radio]") ? one.checked : one.multiple ? [...one.selectedOptions].map((option) => option.value) : one.value);
const nameOf = (one) => (one.matches("[type=radio], [type=checkbox]") ? `${one.name}=${one.value}` : one.name);
const values = () => Object.fromEntries(fields().map((one) => [nameOf(one), valueOf(one)]));

function putBack(kept) {
  for (const one of fields()) {
    const value = kept[nameOf(one)];
    if (value === undefined) continue;
    if (typeof value === "boolean") one.checked = value;
    else if (Array.isArray(value)) for (const option of one.options) option.selected = value.includes(option.value);
    else one.value = value;
    one.dispatchEvent(new Event("input", { bubbles: true }));
    one.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

function watch() {
  const text = () => JSON.stringify(values());
  let first = text();
  let isSent = false;
  let isTouched = false;
  // Scripts of widgets change fields too, most of them until the page is loaded.
  addEventListener("load", () => {
    if (!isTouched) first = text();
  });
  const isChanged = () => isTouched && !isSent && text() !== first;
  const words = document.querySelector("[data-unsaved-words]")?.dataset;
  const kept = sessionStorage.getItem(key());
  // The page of a form that was sent and refused has its values already.
  if (kept && kept !== first && !form.querySelector(".errorlist") && words) {
    offer(words, () => {
      isTouched = true;
      putBack(JSON.parse(kept));
    });
  } else sessionStorage.removeItem(key());
  const keep = (event) => {
    isTouched ||= event.isTrusted;
    if (isChanged()) sessionStorage.setItem(key(), text());
    else if (isTouched && event.type !== "click") sessionStorage.removeItem(key());
  };
  // A click moves rows of a filtered list, for example.
  for (const kind of ["input", "change", "click"]) form.addEventListener(kind, keep);
  // Kept until another page says that it was stored: signed out, the form comes back empty.
  form.addEventListener("submit", () => {
    isSent = true;
    sessionStorage.setItem(SENT, location.pathname);
  });
  addEventListener("beforeunload", (event) => isChanged() && event.preventDefault());
  addEventListener("pageshow", () => (isSent = false));
}

function offer(words, putThemBack) {
  const note = document.createElement("p");
  note.className = "unsaved-note";
  note.setAttribute("role", "status");
  note.textContent = `${words.unsavedWords} `;
  for (const [label, act] of [[words.putBack, putThemBack], [words.forget, () => sessionStorage.removeItem(key())]]) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "button", textContent: label });
    button.addEventListener("click", () => {
      act();
      note.remove();
    });
    note.append(button, " ");
  }
  form.before(note);
}

// Another page of the panel, or the word that it was stored, means that the form arrived: a sign-in page has no script.
const sent = sessionStorage.getItem(SENT);
sessionStorage.removeItem(SENT);
if (sent && (sent !== location.pathname || document.querySelector(".messagelist .success"))) sessionStorage.removeItem(STORE + sent);
if (form) watch();
