/* Shows the messages, tool calls, approvals and outcomes of a conversation in the widget. */

import { inLocalTime, TOOL_STATES } from "../js/shared.js";
import { Answer } from "./answer.js";
import { copyButton, make } from "./elements.js";
import { Reasoning } from "./reasoning.js";

// Errors that would occur again: they get no retry button.
const FINAL = new Set(["invalid_input", "thread_not_found"]);
const STOPPED = "Stopped.";

export class Transcript {
  #root;
  #actions;
  #answers = new Map();
  #calls = new Map();
  #reasonings = new Map();

  /** `actions`: retry(), resume(entries), decided(), media(list). */
  constructor(root, actions) {
    this.#root = root;
    this.#actions = actions;
  }

  addUser({ id, content }) {
    if (this.#user(id)) return;
    this.#root.append(make("article.user", { "aria-label": "You", "data-id": id }, make("p.bubble", {}, content), make("p.note")));
  }

  #user(id) {
    return [...this.#root.querySelectorAll(".user")].find((one) => one.dataset.id === id);
  }

  note(id, text) {
    const line = this.#user(id)?.querySelector(".note");
    if (line) line.textContent = text;
  }

  remove(id) {
    this.#user(id)?.remove();
  }

  #place(element) {
    if (element.isConnected) return;
    let turn = this.#root.lastElementChild;
    if (!turn?.classList.contains("turn")) this.#root.append((turn = make("article.turn", { "aria-label": "Assistant" })));
    turn.append(element);
  }

  #answer(id) {
    if (!this.#answers.has(id)) this.#answers.set(id, new Answer(id));
    const answer = this.#answers.get(id);
    this.#place(answer.element);
    return answer;
  }

  #reasoning(id) {
    if (!this.#reasonings.has(id)) this.#reasonings.set(id, new Reasoning());
    const reasoning = this.#reasonings.get(id);
    this.#place(reasoning.element);
    return reasoning;
  }

  #call(id, name = "tool") {
    if (!this.#calls.has(id)) {
      const state = make("span.state", {}, TOOL_STATES.running);
      this.#calls.set(id, { element: make("p.tool", {}, make("code", {}, name), " ", state), state, input: "" });
    }
    const call = this.#calls.get(id);
    this.#place(call.element);
    return call;
  }

  event(event) {
    if (event.subagentRunId) return;
    const { type, messageId, toolCallId, delta } = event;
    if (type === "TEXT_MESSAGE_START") {
      this.#answer(messageId);
      this.#goesOn(messageId);
    }
    if (type === "TEXT_MESSAGE_CONTENT") this.#answer(messageId).append(delta);
    else if (type === "REASONING_MESSAGE_START") this.#goesOn(messageId.replace(/-reasoning$/, ""));
    else if (type === "REASONING_MESSAGE_CONTENT") this.#reasoning(messageId).append(delta);
    else if (type === "REASONING_MESSAGE_END") this.#reasoning(messageId).finish();
    else if (type === "TOOL_CALL_START") {
      this.#call(toolCallId, event.toolCallName);
      this.#goesOn(event.parentMessageId);
    }
    else if (type === "TOOL_CALL_ARGS") this.#call(toolCallId).input += delta;
    else if (type === "TOOL_CALL_RESULT") this.#settle(toolCallId, "ok");
    else if (type === "CUSTOM" && event.name === "tool.finished") this.#settle(event.value.toolCallId, event.value.status, event.value.media);
    else if (type === "CUSTOM" && event.name === "message.cut") this.#addNotice("The answer was cut off.");
  }

  #settle(id, status, media) {
    const call = this.#call(id);
    if (!call.isSettled) call.state.textContent = TOOL_STATES[status] ?? status;
    call.isSettled = true;
    call.box?.remove();
    if (media?.length && !call.media) {
      call.element.after((call.media = make("div.media")));
      this.#actions.media(media).then((shown) => call.media.append(...shown));
    }
  }

  block(value) {
    this.#answers.get(value.messageId)?.close(value);
  }

  #addNotice(text) {
    this.#place(make("p.remark", {}, text));
  }

  /** Remove the note that a message was cut off: snapshots mark messages as partial that are still being written. */
  #goesOn(id) {
    for (const note of this.#root.querySelectorAll(".partial")) if (note.dataset.about === id) note.remove();
  }

  clearFailures() {
    for (const old of this.#root.querySelectorAll(".failure")) old.remove();
  }

  /** Show how the run ended. Returns the sentence to announce. */
  ended(event) {
    const sentence = this.#end(event);
    this.#addCopyButtons();
    return sentence;
  }

  #end(event) {
    const outcome = event.outcome?.type;
    if (event.type === "RUN_ERROR") {
      this.#fail(event);
      return `The answer failed. ${inLocalTime(event.message)}`;
    }
    if (outcome === "cancelled") {
      if (this.#root.querySelector(".turn:last-child > :last-child")?.textContent !== STOPPED) this.#addNotice(STOPPED);
      return "The answer was stopped.";
    }
    if (outcome === "interrupt") {
      this.#ask(event.outcome.interrupts);
      return "The assistant needs your approval to go on.";
    }
    return `Answer complete. ${[...this.#answers.values()].at(-1)?.text.slice(0, 400) ?? ""}`;
  }

  #addCopyButtons() {
    for (const turn of this.#root.querySelectorAll(".turn:not(:has(.copy-answer)):has(.answer)")) {
      const texts = () => [...turn.querySelectorAll(".answer")].map(({ dataset }) => this.#answers.get(dataset.id).text.trim());
      const button = copyButton("Copy the answer", () => texts().join("\n\n"));
      button.classList.add("copy-answer");
      turn.append(button);
    }
  }

  #fail({ message, code }) {
    const retry = make("button", { type: "button", onclick: () => this.#actions.retry() }, "Try again");
    this.#place(make("div.failure", {}, make("p", {}, inLocalTime(message)), ...(FINAL.has(code) ? [] : [retry])));
  }

  #ask(interrupts) {
    const decided = new Map();
    for (const { id, toolCallId, message } of interrupts) {
      const call = this.#call(toolCallId ?? id);
      call.state.textContent = TOOL_STATES.awaiting_approval;
      const decide = (approved) => () => {
        decided.set(id, { interruptId: id, status: "resolved", payload: { approved } });
        box.replaceChildren(approved ? "Approved." : "Rejected.");
        this.#actions.decided();
        if (decided.size === interrupts.length) this.#actions.resume([...decided.values()]);
      };
      const box = make(
        "div.approval",
        { role: "group", "aria-label": "Approval" },
        make("p", {}, message ?? "May the assistant do this?"),
        ...(call.input ? [make("pre", { tabIndex: 0 }, call.input)] : []),
        make("button.primary", { type: "button", onclick: decide(true) }, "Approve"),
        make("button", { type: "button", onclick: decide(false) }, "Reject"),
      );
      call.box = box;
      call.element.after(box);
    }
  }

  /** Replace everything with these AG-UI messages and `pending`, a message not yet sent. */
  snapshot(messages, pending) {
    this.#root.replaceChildren();
    this.#answers.clear();
    this.#calls.clear();
    this.#reasonings.clear();
    for (const message of messages) {
      if (message.subagentRunId) continue;
      if (message.role === "user") this.addUser(message);
      else if (message.role === "assistant") this.#addStored(message);
      else if (message.role === "reasoning") this.#addReasoning(message);
      else if (message.role === "tool") this.#settle(message.toolCallId, message.metadata?.tool?.status ?? "ok", message.metadata?.tool?.media);
    }
    if (pending) this.addUser(pending);
  }

  #addReasoning({ id, content }) {
    const reasoning = this.#reasoning(id);
    reasoning.append(content);
    reasoning.finish();
  }

  #addStored({ id, content, toolCalls, metadata }) {
    if (content) this.#answer(id).append(content);
    if (metadata?.partial) {
      this.#place(make("p.remark.partial", { "data-about": id }, metadata.stopped ? STOPPED : "This answer was cut off."));
    }
    for (const { id: callId, function: called } of toolCalls ?? []) this.#call(callId, called.name).input = called.arguments;
  }
}
