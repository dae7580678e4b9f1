// Cases of openai-node.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { COUNT, MODEL, TOOL, WEATHER, run } from "./cases.mjs";

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: process.env.API_KEY, maxRetries: 0 });
const ask = (options) =>
  client.chat.completions.create({
    model: MODEL, messages: [{ role: "user", content: COUNT }], max_tokens: 48, ...options,
  });

await run({
  async plain() {
    const answer = await ask({});
    assert.ok(answer.choices[0].message.content);
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
  },
  async streamed() {
    const whole = (await ask({ temperature: 0 })).choices[0].message.content;
    let text = "";
    for await (const chunk of await ask({ temperature: 0, stream: true })) {
      text += chunk.choices[0]?.delta?.content ?? "";
    }
    assert.equal(text, whole);
  },
  async stream_helper() {
    const stream = client.chat.completions.stream({
      model: MODEL, messages: [{ role: "user", content: WEATHER }], tools: [TOOL], tool_choice: "required",
      max_tokens: 200,
    });
    const completion = await stream.finalChatCompletion();
    assert.equal(completion.choices[0].message.tool_calls[0].function.name, "get_weather");
  },
  async tool_runner() {
    let called = 0;
    const runner = client.chat.completions.runTools({
      model: MODEL, max_tokens: 200, messages: [{ role: "user", content: WEATHER }],
      tools: [{ type: "function", function: { ...TOOL.function, parse: JSON.parse, function: () => { called += 1; return "Sunny"; } } }],
    });
    await runner.finalContent();
    assert.ok(called > 0);
  },
  async several_choices() {
    assert.equal((await ask({ n: 2, max_tokens: 4 })).choices.length, 2);
  },
  async bad_request() {
    await assert.rejects(ask({ temperature: 9 }), OpenAI.BadRequestError);
  },
  async models() {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.ok(ids.includes(MODEL));
  },
});
