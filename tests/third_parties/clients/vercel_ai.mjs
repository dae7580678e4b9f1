// Cases of the Vercel AI SDK with its provider for OpenAI-compatible servers.
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, Output, streamText, tool } from "ai";
import { COUNT, MODEL, TOOL, WEATHER, run } from "./cases.mjs";

const provider = createOpenAICompatible({
  name: "chatproof", baseURL: process.env.BASE_URL, apiKey: process.env.API_KEY, includeUsage: true,
  supportsStructuredOutputs: true,
});
const common = { model: provider(MODEL), maxOutputTokens: 200, maxRetries: 0 };
const tools = {
  get_weather: tool({
    description: TOOL.function.description,
    inputSchema: jsonSchema(TOOL.function.parameters),
    execute: async () => "Sunny",
  }),
};

await run({
  async plain() {
    const { text, usage } = await generateText({ ...common, prompt: COUNT });
    assert.ok(text);
    assert.ok(usage.totalTokens > 0);
  },
  async streamed() {
    const result = streamText({ ...common, prompt: COUNT });
    let text = "";
    for await (const part of result.textStream) text += part;
    assert.ok(text);
    assert.ok((await result.usage).totalTokens > 0);
  },
  async tool_call() {
    const { toolCalls } = await generateText({ ...common, prompt: WEATHER, tools, toolChoice: "required" });
    assert.equal(toolCalls[0].toolName, "get_weather");
  },
  async streamed_tool_call() {
    const result = streamText({ ...common, prompt: WEATHER, tools, toolChoice: "required" });
    await result.consumeStream();
    assert.equal((await result.toolCalls)[0].toolName, "get_weather");
  },
  async schema() {
    const schema = jsonSchema({
      type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false,
    });
    const { output } = await generateText({ ...common, prompt: COUNT, output: Output.object({ schema }) });
    assert.equal(typeof output.n, "number");
  },
  async bad_request() {
    await assert.rejects(generateText({ ...common, prompt: COUNT, temperature: 9 }), /temperature/);
  },
});
