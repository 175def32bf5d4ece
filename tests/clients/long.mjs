// Goes on with a conversation of 2 MB through the AI SDK: as chat completions and as responses, whole and streamed.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const { url, key } = JSON.parse(process.argv[2]);
const chat = createOpenAICompatible({ name: "assistant", baseURL: url, apiKey: key });
const responses = createOpenAI({ baseURL: url, apiKey: key });
const messages = [];
for (let turn = 0; turn < 36; turn++) {
  messages.push({ role: "user", content: `${turn}? `.repeat(7500) });
  messages.push({ role: "assistant", content: turn % 2 ? "" : `${turn}. `.repeat(7500) });
}
messages.push({ role: "user", content: "x".repeat(700_000) }, { role: "assistant", content: "Long." });
messages.push({ role: "user", content: "And now?" });
const texts = [];
for (const model of [chat("support"), responses("support")]) {
  texts.push((await generateText({ model, messages })).text);
  texts.push(await streamText({ model, messages }).text);
}
console.log(JSON.stringify({ texts, size: JSON.stringify(messages).length }));
