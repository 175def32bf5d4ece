/* The dialog in which a member asks for a tool, with what they have asked for in the conversation. */

import { announce, byId } from "../js/dom.js";
import { make } from "../js/elements.js";
import { gettext } from "../js/i18n.js";
import { addStyles } from "../js/styles.js";
import { answerText, nameOf } from "./words.js";

const NONE = "00000000-0000-0000-0000-000000000000";
const FAILED = gettext("This did not work. Reload the page and try again.");

const part = (name) => byId(`ask-for-tool-${name}`);

async function ask(address, method = "GET", body = undefined) {
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  const headers = { "X-CSRFToken": token, ...(body && { "Content-Type": "application/json" }) };
  const answer = await fetch(address, { method, headers, body: body && JSON.stringify(body), redirect: "error" });
  const value = answer.headers.get("content-type")?.includes("json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(value.message ?? FAILED);
  return value;
}

/** Open the dialog for the conversation at an address; `tool`: the one that is chosen, if it can be asked for. */
export async function open(conversation, _action, tool) {
  const dialog = byId("ask-for-tool");
  addStyles(document, new URL("./requests.css", import.meta.url).href);
  const thread = conversation.split("/").at(-2);
  const address = dialog.dataset.url.replace(NONE, thread);
  const [problem, choice, wish, why, question, before] = ["error", "tool", "wish", "why", "question", "before"].map(part);
  let askable = [];
  const attempt = async (work) => {
    problem.hidden = true;
    try {
      await work();
    } catch (error) {
      problem.textContent = error instanceof TypeError ? FAILED : error.message;
      problem.hidden = false;
    }
  };
  const chosen = () => {
    why.textContent = askable.find(({ name }) => name === choice.value)?.why ?? "";
    why.hidden = !why.textContent;
    wish.required = !choice.value;
  };
  const show = async () => {
    const found = await ask(address);
    askable = found.askable;
    choice.replaceChildren(
      ...askable.map(({ name, title }) => make("option", { value: name, selected: name === tool }, title)),
      make("option", { value: "" }, askable.length ? gettext("Something else") : gettext("Something that is not there")),
    );
    question.hidden = !found.question;
    question.querySelector("q").textContent = found.question;
    before.hidden = !found.requests.length;
    before.querySelector("ul").replaceChildren(...found.requests.map(entry));
    chosen();
  };
  const withdraw = (id) => attempt(async () => {
    await ask(`${address}${id}/`, "DELETE");
    announce(gettext("Taken back"));
    await show();
    wish.focus();
  });
  const entry = (request) => {
    const take = request.state === "open" && make("button.button", { type: "button", onclick: () => withdraw(request.id) }, gettext("Take back"));
    return make("li", {}, make("strong", { dir: "auto" }, nameOf(request)), make("span.ask-state", { dir: "auto" }, answerText(request)), ...(take ? [take] : []));
  };
  choice.onchange = chosen;
  part("close").onclick = () => dialog.close();
  part("form").onsubmit = (event) => {
    event.preventDefault();
    attempt(async () => {
      await ask(address, "POST", { tool: choice.value, wish: wish.value.trim() });
      announce(gettext("Asked"));
      wish.value = "";
      dialog.close();
    });
  };
  choice.replaceChildren();
  before.hidden = true;
  dialog.showModal();
  wish.focus(); // before the answer is there, so that what is typed meanwhile chooses no tool
  await attempt(show);
}
