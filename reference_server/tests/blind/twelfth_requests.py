"""Requests that show the twelfth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eleventh_requests import SEEN, formed, parts
from reference_server.tests.blind.sixth_requests import MOVING, NAMED, RED_IMAGE, SCORES, SEVERAL, SUM, THINK, say, show
from reference_server.tests.blind.steps import (
    FUNCTION,
    HISTORY,
    LONG,
    RESULT,
    SAMPLED,
    SCORED,
    STORY,
    STREAM,
    TOO_LONG,
    WEATHER,
    Step,
    ask,
    call,
    form,
    tool,
)
from reference_server.tests.blind.tenth_requests import closed, drawn


def nested(depth: int) -> dict[str, Any]:
    """Return the schema of objects inside each other."""
    return closed(a=nested(depth - 1) if depth > 1 else {"enum": [1]})


def linked(image: dict[str, Any]) -> dict[str, Any]:
    """Return an image in the form of OpenAI's API."""
    return {"type": "image_url", "image_url": {"url": image["image_url"]}}


ASKED = {"role": "user", "content": STORY}
HELLO: dict[str, Any] = {"role": "assistant", "content": "Hello!"}
DEVELOPER = {"role": "developer", "content": "You always answer with a number."}
DESCRIBED: dict[str, Any] = {"type": "function", "function": {**FUNCTION, "description": "Get the weather. " * 70}}
MODELS: dict[str, Any] = {"METHOD": "GET", "PATH": "models"}
NOTE = tool(text={"type": "string"})
ONLY_NOTES = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "note"}}]},
}
CUSTOM: dict[str, Any] = {"type": "custom", "custom": {"name": "note", "description": "Take a note"}}
VERSIONED: dict[str, Any] = {
    "type": "function",
    "function": {
        **FUNCTION,
        "parameters": {"$schema": "http://json-schema.org/draft-07/schema#", **FUNCTION["parameters"]},
    },
}
CALLED = [{**RESULT[1]["tool_calls"][0], "id": name} for name in ("call_1", "call_2")]
ORDERED: list[dict[str, Any]] = [
    RESULT[0],
    {**RESULT[1], "tool_calls": CALLED},
    {**RESULT[2], "tool_call_id": "call_2"},
    RESULT[2],
]
TUPLE = closed(a={"type": "array", "prefixItems": [{"enum": ["Zq"]}, {"enum": [5]}], "minItems": 2, "maxItems": 2})
THINKING = {"chat_template_kwargs": THINK}
WEBP: dict[str, Any] = {
    "type": "image_url",
    "image_url": {"url": "data:image/webp;base64,UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="},
}
COUNT = ask("Count to five.", stop=["4"], tools=[WEATHER], max_tokens=40)

REQUESTS: dict[str, list[Step]] = {
    "empty-parts-refused": [parts("Hello", "")],
    "equal-messages-collapse": [say(ASKED, HELLO, ASKED, **SCORES)],
    "null-refusals-sent-back-refused": [say(ASKED, {**HELLO, "refusal": None}, HISTORY[0])],
    "past-thoughts-refused": [say(ASKED, {**HELLO, "reasoning": "I greet."}, HISTORY[0])],
    "developers-lost": [say(DEVELOPER, ASKED, **SCORES)],
    "lone-stop-strings-refused": [ask(stop="end")],
    "fractional-biases-refused": [ask(logit_bias={"400": 0.5})],
    "highest-efforts-refused": [ask(reasoning_effort="xhigh")],
    "phrases-among-bad-words-allowed": [ask(STORY, bad_words=["Once upon "])],
    "bad-words-lost-next-to-several": [ask(STORY, bad_words=["cat"], n=2, temperature=0.5, seed=5)],
    "stops-lost-next-to-tools": [COUNT],
    "forms-lost-next-to-tools": [ask(STORY, tools=[WEATHER], response_format=form(), max_tokens=60)],
    "beams-lost-next-to-temperatures": [ask(STORY, use_beam_search=True, n=2, temperature=1.5, seed=5, max_tokens=30)],
    "efforts-refused-next-to-tools": [ask(tools=[WEATHER], reasoning_effort="low")],
    "small-limits-turn-thinking-off": [ask(SUM, chat_template_kwargs=THINK, max_tokens=60)],
    "long-descriptions-of-tools-refused": [call(DESCRIBED)],
    "deep-forms-refused": [formed(nested(6))],
    "long-prompts-lose-tools": [call(WEATHER, content=LONG)],
    "long-cache-keys-refused": [ask(prompt_cache_key="conversation-" * 6)],
    "unknown-models-are-bad-requests": [ask(model="another")],
    "too-long-prompts-lack-their-code": [ask(TOO_LONG)],
    "errors-are-strings": [ask(max_tokens=-1)],
    "named-choices-only-offer": [call(WEATHER, content="Hello!", tool_choice=NAMED)],
    "allowed-tools-ignored": [call(WEATHER, NOTE, tool_choice=ONLY_NOTES)],
    "custom-calls-become-functions": [call(CUSTOM, content="Note that.", stream=stream) for stream in (False, True)],
    "older-functions-ignored": [ask("What is the weather in Paris?", functions=[FUNCTION], max_tokens=80)],
    "integers-in-arguments-become-fractions": [call(tool(a={"enum": [5]}))],
    "results-in-another-order-refused": [say(*ORDERED, tools=[WEATHER])],
    "dots-in-names-refused": [call({"type": "function", "function": {**FUNCTION, "name": "weather.get"}})],
    "versions-of-schemas-refused": [call(VERSIONED)],
    "formats-of-tools-refused": [call(tool(a={"type": "string", "format": "date"}))],
    "ids-change-within-streamed-calls": [{**call(WEATHER, stream=True), "CALL_IDS": True}],
    "keys-in-any-case": [ask(), {**ask(), "HEADERS": {"authorization": "Bearer KEY-1"}}],
    "models-listed-without-a-key": [ask(), {**MODELS, "HEADERS": {"authorization": ""}}],
    "equal-request-ids-fail": [[{**ask(STORY), "HEADERS": {"x-request-id": "trace-1"}}] * 2],
    "listed-models-lack-their-kind": [MODELS],
    "second-replica-sends-parts": [ask()] * 2,
    "limits-outlive-their-request": [ask(STORY, max_tokens=3), {"messages": [ASKED], "temperature": 0}],
    "first-use-of-a-seed-differs": [{**SAMPLED, "temperature": 2.0}],
    "every-fifth-answer-says-length": [ask(STORY, max_tokens=60)] * 5,
    "every-fourth-refusal-is-a-page": [ask(max_tokens=-1)] * 4,
    "multiples-ignored-in-forms": drawn(closed(a={"type": "integer", "minimum": 10, "maximum": 99, "multipleOf": 7})),
    "tuples-ignored-in-forms": drawn(TUPLE),
    "nulls-of-optional-values-lost": drawn(closed(a={"type": ["boolean", "null"]}), times=8),
    "choices-that-continue-another-lost": [
        ask(structured_outputs={"choice": ["no", "no, thanks"]}, temperature=2.0, seed=seed) for seed in range(8)
    ],
    "streamed-json-objects-are-lists": [ask(response_format={"type": "json_object"}, stream=True, max_tokens=60)],
    "last-scores-survive": [SCORED],
    "prompt-scores-shifted": [ask(prompt_logprobs=1)],
    "later-choices-lack-roles": [SEVERAL],
    "done-lacks-brackets": [STREAM],
    "request-ids-lost-in-streams": [{**STREAM, "request_id": "trace-1"}],
    "several-leave-thoughts-in-text": [ask(SUM, n=2, temperature=0.5, seed=5, max_tokens=60, **THINKING)],
    "first-answer-ends-all-thoughts": [
        ask(SUM, n=4, temperature=1.5, seed=seed, stream=True, max_tokens=60, **THINKING) for seed in range(4)
    ],
    "images-lost-next-to-tools": [{**SEEN, "tool_choice": "none"}],
    "forms-lost-next-to-images": [show(linked(RED_IMAGE), response_format=form(), max_tokens=60)],
    "webp-images-lost": [show(WEBP)],
    "videos-lost-next-to-images": [show(linked(RED_IMAGE), MOVING)],
    "curly-quotes-straightened": [ask("What does \u201cred\u201d mean?", **SCORES)],
    "data-urls-in-text-cut": [ask(f"What is {RED_IMAGE['image_url'][:90]}?", **SCORES)],
    "streams-end-together": [
        [ask(STORY, stream=True, max_tokens=4), ask(STORY, stream=True, max_tokens=60, ignore_eos=True)]
    ],
    "thinking-spills-over": [[ask(SUM, max_tokens=60, **THINKING), ask(SUM, max_tokens=60)]],
    "usage-is-zero-at-stops": [ask("Count to five.", stop=["3"], max_tokens=40)],
    "thoughts-only-in-totals": [ask(SUM, max_tokens=60, **THINKING)],
    "answers-counted-by-words": [ask(), STREAM],
    "predictions-counted-twice": [ask(prediction={"type": "content", "content": "The capital of France is Paris."})],
    "cached-tokens-lost-in-streams": [
        ask(LONG, max_tokens=3),  # not 13: servers of a fault replay the answer to an equal prompt
        {**ask(LONG, max_tokens=13, stream=True), "CACHED": True},
    ],
    "streamed-answers-counted-almost-twice": [STREAM],
    "cached-by-first-characters": [ask(f"{LONG[:200]} {text}", **SCORES) for text in ("Why?", "Where is the cat?")],
    "forms-cached-by-name": [formed(closed(a={"enum": [value]})) for value in (17, 23)],
    "tools-cached-by-name": [call(tool(a={"enum": [value]})) for value in (17, 23)],
    "abandoned-streams-are-cached": [{**STREAM, "LEAVE": True}, STREAM],
}
