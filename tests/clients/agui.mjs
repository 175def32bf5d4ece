// Drives the server with @ag-ui/client, whose verifyEvents checks every event. Reads what to do as JSON from its
// argument, and prints what a user of the client has afterwards: messages, types of events, and errors.
import * as current from "@ag-ui/client";
import * as earlier from "@ag-ui/client-0.0.59";
import WebSocket from "ws";

globalThis.WebSocket ??= WebSocket;
const { WebSocketAgent } = await import("./websocket-agent.mjs");

const task = JSON.parse(process.argv[2]);
const clients = { "1.0.0": current, "0.0.59": earlier };
const agent =
  task.transport === "websocket"
    ? new WebSocketAgent({ url: task.url, apiKey: task.key, threadId: task.thread })
    : new clients[task.version].HttpAgent({
        url: task.url,
        headers: { Authorization: `Bearer ${task.key}` },
        threadId: task.thread,
      });

let stopping = false;
let lastRun = "";
const seen = { events: [], errors: [] };
const subscriber = {
  onEvent: ({ event }) => void seen.events.push(event.type),
  onRunStartedEvent: ({ event }) => void (lastRun = event.runId),
  onTextMessageContentEvent: () => void (stopping && agent.abortRun()),
  onRunErrorEvent: ({ event }) => void seen.errors.push(event.code),
};
for (const turn of task.turns) {
  for (const { times = 1, ...message } of turn.messages ?? []) {
    agent.addMessage({ ...message, content: message.content.repeat(times) });
  }
  if (turn.answer !== undefined) {
    const call = agent.messages.at(-1).toolCalls[0];
    agent.addMessage({ id: `answer-${call.id}`, role: "tool", toolCallId: call.id, content: turn.answer });
  }
  const more = {};
  if (turn.resume !== undefined) {
    more.resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "resolved", payload: turn.resume }));
    if (turn.sameRun) more.runId = lastRun;
  }
  stopping = Boolean(turn.stop);
  try {
    await agent.runAgent({ tools: task.tools ?? [], ...more }, subscriber);
  } catch (error) {
    seen.errors.push(String(error.message ?? error));
  }
}
console.log(JSON.stringify({ ...seen, messages: agent.messages }));
