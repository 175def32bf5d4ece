// Tries the prompt that is being written, beside it: saves a draft and asks it over the websocket of members, as a test.
import { Connection } from "../js/connection.js";
import { make } from "../js/elements.js";

const pane = document.getElementById("try");
const form = document.getElementById("prompt-form");
const said = document.getElementById("try-said");
const state = document.getElementById("try-state");
const question = document.getElementById("try-question");
const send = document.getElementById("try-send");
const anew = document.getElementById("try-new");
const chat = document.getElementById("try-chat");
const who = document.getElementById("try-user"); // operators choose a member
const words = pane.dataset;
const MAX_SPOKEN = 20_000; // characters of an answer that later questions send along
const newId = () => crypto.randomUUID();

let thread = newId();
let run = null; // {id, began, answer, number} of the run that is awaited
let connection = null;
let spoken = []; // what was said as another member: question, answer, question, ...
let speaker = null; // as whom all of what is shown was asked

function add(kind, text) {
  const line = make(`li.${kind}`, {}, text);
  said.append(line);
  said.scrollTop = said.scrollHeight;
  return line;
}

function show(text) {
  state.textContent = text;
}

function ended() {
  run = null;
  send.disabled = false;
  if (who) who.disabled = false;
  show("");
}

function failed(text) {
  add("problem", text);
  ended();
}

/** Save what stands on the left; return the version, or null after showing why not. */
async function saved() {
  const data = new FormData(form);
  data.set("do", "try-here");
  const response = await fetch(location.pathname, { method: "POST", body: data, headers: { Accept: "application/json" } });
  const found = await response.json();
  if (!response.ok) {
    failed((found.problems ?? []).join(" "));
    return null;
  }
  form.elements.draft.value = found.draft ?? "";
  form.elements.seen.value = found.seen;
  form.elements.text.defaultValue = form.elements.text.value;
  return found;
}

async function opened() {
  if (connection?.isOpen) return;
  connection ??= new Connection(words.socket, new AbortController().signal);
  const open = new Promise((resolve) => connection.addEventListener("open", resolve, { once: true }));
  if (connection.state === "connecting") {
    connection.addEventListener("frame", ({ detail }) => received(detail));
    connection.addEventListener("change", ({ detail }) => run && detail.state !== "open" && run.isSent && failed(words.lost));
    connection.connect();
  } else connection.retryNow();
  await open;
}

/** Ask as the member that was chosen, whose test the server deletes when it has answered. */
async function askAs(user, version, text) {
  const data = new FormData();
  data.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  data.set("version", version.version);
  data.set("user", user);
  data.set("said", JSON.stringify([...spoken, text]));
  run.began = performance.now();
  const response = await fetch(words.as, { method: "POST", body: data, headers: { Accept: "application/json" } });
  const found = await response.json();
  if (!response.ok || found.error) return failed(found.problem ?? found.error);
  for (const call of found.calls) add("tool", `${words.tool}: ${call.name} · ${call.how}`);
  const facts = [user, `${words.version} ${version.number}`, `${found.seconds} ${words.seconds}`, `${found.tokens} ${words.tokens}`];
  add("answer", found.answer).append(make("small", {}, facts.join(" · ")));
  said.scrollTop = said.scrollHeight;
  const answer = Array.from(found.answer.trim() || "—").slice(0, MAX_SPOKEN).join("");
  spoken = [...spoken, text, answer].slice(-18);
  anew.hidden = false;
  ended();
}

const handlers = {
  TEXT_MESSAGE_START: () => (run.answer = add("answer", "")),
  TEXT_MESSAGE_CONTENT: ({ delta }) => {
    run.answer ??= add("answer", "");
    run.answer.append(delta);
    said.scrollTop = said.scrollHeight;
  },
  TOOL_CALL_START({ toolCallId, toolCallName, metadata }) {
    run.tools[toolCallId] = add("tool", `${words.tool}: ${metadata.tool?.title ?? toolCallName}`);
  },
  TOOL_CALL_RESULT: ({ toolCallId }) => run.tools[toolCallId]?.append(` · ${words.done}`),
  RUN_ERROR: ({ message }) => failed(message),
  RUN_FINISHED: ({ outcome, usage }) => {
    const seconds = ((performance.now() - run.began) / 1000).toFixed(1);
    const tokens = (usage ?? []).reduce((sum, one) => sum + (one.inputTokens ?? 0) + (one.outputTokens ?? 0), 0);
    const facts = [`${words.version} ${run.number}`, `${seconds} ${words.seconds}`, tokens ? `${tokens} ${words.tokens}` : ""];
    (run.answer ?? add("answer", "")).append(make("small", {}, facts.filter(Boolean).join(" · ")));
    said.scrollTop = said.scrollHeight;
    if (outcome?.type === "interrupt") add("tool", words.waits);
    ended();
  },
};

function received(event) {
  if (run && event.metadata?.run?.id === run.id) handlers[event.type]?.(event);
}

async function ask() {
  const text = question.value.trim();
  if (!text || run) return;
  const user = who?.value.trim() ?? words.self;
  if (user !== speaker) anew.click();
  speaker = user;
  send.disabled = true;
  if (who) who.disabled = true; // what was said is of one person
  document.getElementById("try-empty").hidden = true;
  add("question", text);
  question.value = "";
  run = { id: newId(), began: 0, answer: null, tools: {}, isSent: false };
  show(words.saving);
  try {
    const version = await saved();
    if (!version) return;
    run.number = version.number;
    show(words.answering);
    if (words.as && (!words.self || user !== words.self)) return await askAs(user, version, text);
    await opened();
    run.began = performance.now();
    run.isSent = connection.send({
      threadId: thread,
      runId: run.id,
      messages: [{ id: newId(), role: "user", content: text }],
      tools: [],
      context: [],
      state: {},
      forwardedProps: { promptVersion: version.version, testTools: "stub" },
    });
    anew.hidden = chat.hidden = false;
    chat.href = `${words.chat}c/${thread}/`;
  } catch {
    failed(words.lost);
  }
}

who?.addEventListener("change", () => anew.click());
who?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault(); // of the form's first button, which saves the draft
  question.focus();
});
send.addEventListener("click", ask);
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  ask();
});
anew.addEventListener("click", () => {
  if (run) return;
  thread = newId();
  spoken = [];
  said.replaceChildren();
  anew.hidden = chat.hidden = true;
  document.getElementById("try-empty").hidden = false;
  question.focus();
});
