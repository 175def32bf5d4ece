// Asks the OpenAI-compatible door through the AI SDK, and lets it call a tool of its own.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const { url, key, streamed } = JSON.parse(process.argv[2]);
const provider = createOpenAICompatible({ name: "tenant", baseURL: url, apiKey: key, includeUsage: true });
const asked = {
  model: provider("support"),
  prompt: "Which colour?",
  stopWhen: stepCountIs(3),
  tools: {
    pick_colour: tool({
      description: "Let the user pick a colour.",
      inputSchema: jsonSchema({ type: "object", properties: { why: { type: "string" } } }),
      execute: async ({ why }) => `blue for ${why}`,
    }),
  },
};
const answer = streamed ? streamText(asked) : await generateText(asked);
const usage = await answer.totalUsage;
console.log(JSON.stringify({ text: await answer.text, input: usage.inputTokens, output: usage.outputTokens }));
