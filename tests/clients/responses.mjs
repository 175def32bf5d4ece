// Talks to the Responses API through the AI SDK: tools of both sides, a stream, and the history of its own messages.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";

const { url, key } = JSON.parse(process.argv[2]);
const openai = createOpenAI({ baseURL: url, apiKey: key });
const asked = {
  model: openai("support"),
  stopWhen: stepCountIs(3),
  tools: {
    pick_colour: tool({
      description: "Let the user pick a colour.",
      inputSchema: jsonSchema({ type: "object", properties: { why: { type: "string" } } }),
      execute: async ({ why }) => `blue for ${why}`,
    }),
  },
};
const first = await generateText({ ...asked, system: "Be brief.", prompt: "Which colour?" });
const messages = [{ role: "user", content: "Which?" }, ...first.response.messages, { role: "user", content: "6*7?" }];
const streamed = streamText({ ...asked, messages });
const parts = [];
for await (const part of streamed.fullStream) parts.push(part.type + (part.toolName ? ` ${part.toolName}` : ""));
const more = [...messages, ...(await streamed.response).messages, { role: "user", content: "Sure?" }];
const schema = jsonSchema({ type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] });
const last = await generateText({ model: asked.model, messages: more, output: Output.object({ schema }) });
const { inputTokens, outputTokens } = first.totalUsage;
console.log(JSON.stringify({ texts: [first.text, await streamed.text], sure: last.output, parts, inputTokens, outputTokens }));
