"""Requests that show the fifth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.fourth_requests import SEVERAL, SUM, THINK, TWO_CITIES, USAGE, fill
from reference_server.tests.blind.steps import (
    LONG,
    RESULT,
    SAMPLED,
    SCORED,
    STORY,
    STREAM,
    WEATHER,
    Step,
    ask,
    call,
    form,
    tool,
)
from reference_server.tests.blind.third_requests import talk, user

TOOL_SEARCH: dict[str, Any] = {
    "type": "function",
    "function": {"name": "tool_search", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
NAMED = {"type": "function", "function": {"name": "get_weather"}}
NESTED = {"type": "object", "properties": {"b": {"enum": ["c"]}}, "required": ["b"], "additionalProperties": False}
SAID = [RESULT[0], {**RESULT[1], "content": "I will look that up for you, in the weather service."}, RESULT[2]]
TEXTS = [{"type": "text", "text": text} for text in ("What is the capital of France?", "And of Italy?")]
GREETING = [{"type": "text", "text": text} for text in ("Hello!", "How can I help you?")]
OPEN = {"type": "object", "properties": {"name": {"enum": [7]}}, "additionalProperties": True}
CLOSED = {**OPEN, "required": ["name"], "additionalProperties": False}
STREAMED_EVENTS = {"HEADERS": {"accept": "text/event-stream"}}
LONG_STORY = ask(STORY, max_tokens=90, ignore_eos=True)
LONG_STREAM = {**LONG_STORY, "stream": True}
TIMES = [{**ask(max_tokens=1), "IDS": True}] * 4


def sampled_forms(schema: Any) -> list[Step]:
    """Return several requests whose answers match a schema, each with another seed."""
    return [ask(SUM, response_format=form(schema), temperature=2.0, seed=seed, max_tokens=60) for seed in range(1, 9)]


REQUESTS: dict[str, list[Step]] = {
    "frequencies-count-once": [ask(STORY, frequency_penalty=1.0, max_tokens=80, ignore_eos=True)],
    "unseeded-samples-alike": [ask(STORY, temperature=1.5, max_tokens=40)] * 2,
    "limits-end-within-drafts": [ask(STORY, max_tokens=7)],
    "null-stream-options-refused": [ask(stream=True, stream_options=None)],
    "closed-objects-open-in-forms": sampled_forms(CLOSED),
    "optional-properties-take-anything": sampled_forms(OPEN),
    "repeated-pieces-lost-in-streams": [ask("Say no no no no.", stream=True, max_tokens=20)],
    "escaped-pairs-refused": [{**ask("Hello \U0001f600"), "ESCAPED": True}],
    "line-ends-in-messages-lost": [ask("One\nTwo\n\nThree")],
    "earlier-parts-lost": [talk({"role": "user", "content": TEXTS})],
    "nested-objects-in-quotes": [call(tool(a=NESTED))],
    "single-items-unwrapped": [call(tool(a={"type": "array", "items": {"enum": ["b"]}, "minItems": 1, "maxItems": 1}))],
    "required-calls-become-text-in-streams": [call(WEATHER, stream=True)],
    "names-that-begin-with-tool-cut-in-streams": [call(TOOL_SEARCH, stream=True)],
    "calls-share-one-id": [{**ask(TWO_CITIES, tools=[WEATHER], max_tokens=100), "CALL_IDS": True}],
    "texts-next-to-past-calls-forgotten": [talk(*SAID, tools=[WEATHER])],
    "stop-follows-tool-calls": [call(WEATHER, stream=True)],
    "calls-of-one-tool-collapse": [ask(TWO_CITIES, tools=[WEATHER], max_tokens=100)],
    "named-calls-sent-twice-in-streams": [call(WEATHER, tool_choice=NAMED, stream=True)],
    "calls-despite-none-in-streams": [
        ask(TWO_CITIES, tools=[WEATHER], tool_choice="none", stream=True, max_tokens=100)
    ],
    "biases-lost-next-to-several": [{**SAMPLED, "n": 2, "logit_bias": dict.fromkeys(map(str, range(300, 900)), -100)}],
    "forms-lost-in-streams": [{**fill(type="integer"), "stream": True}],
    "several-leave-calls-in-text": [call(WEATHER, n=2, temperature=1.0, seed=5)],
    "token-ids-lost-next-to-calls": [call(WEATHER, stream=True, return_token_ids=True)],
    "intervals-keep-one-score": [{**SCORED, "stream": True, "stream_interval": 4}],
    "every-choice-has-index-zero": [SEVERAL],
    "prompts-counted-for-each-choice": [{**SAMPLED, "n": 2}],
    "thoughts-outnumber-the-answer": [ask(SUM, chat_template_kwargs=THINK, max_tokens=60)],
    "ended-answers-count-whole-drafts": [
        *(ask(content, max_tokens=60) for content in ("Hello!", "Why?", "What is the capital of France?")),
        ask(STORY, stop=["a"], max_tokens=40),
    ],
    "usage-so-far-not-cumulative": [{**STREAM, "stream_options": {**USAGE, "continuous_usage_stats": True}}],
    "streamed-scores-cumulative": [{**SCORED, "stream": True}],
    "chosen-token-listed-twice": [SCORED],
    "long-prompts-lose-a-word": [ask(LONG[:600])],
    "long-streams-cut": [LONG_STREAM],
    "long-plain-answers-time-out": [LONG_STORY],
    "long-streams-lose-a-piece": [LONG_STREAM],
    "cached-whatever-the-stream": [ask(), STREAM],
    "ids-are-times": [TIMES],
    "disconnects-break-other-streams": [[{**LONG_STREAM, "LEAVE": True}, {**LONG_STREAM, "max_tokens": 400}]],
    "refusals-spoil-connections": [ask(temperature=-1), ask()],
    "assistants-in-parts-refused": [talk(user("Hello!"), {"role": "assistant", "content": GREETING}, user("Hello!"))],
    "accept-of-streams-refused": [{**STREAM, **STREAMED_EVENTS}],
    "accept-forces-streams": [{**ask(), **STREAMED_EVENTS}],
    "unstated-streams-end-with-done": [ask()],
    "pieces-overtake-each-other": [STREAM],
}
