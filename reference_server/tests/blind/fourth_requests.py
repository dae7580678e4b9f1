"""Requests that show the fourth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.steps import (
    HISTORY,
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

THINK = {"enable_thinking": True}
SUM = "What is 2 and 2?"
TWO_CITIES = "What is the weather in Paris and in Rome?"
USAGE = {"include_usage": True}
SEVERAL = {**SAMPLED, "n": 2, "stream": True, "stream_options": USAGE}
BRACE = tool(a={"enum": ["a } b"]})
REFERENCE: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "note",
        "parameters": {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/kind"}},
            "required": ["a"],
            "$defs": {"kind": {"enum": ["b"]}},
        },
    },
}
BIAS = {"364": -100}  # the first token of the answer about France
LONG_STREAM = ask(STORY, stream=True, max_tokens=60, ignore_eos=True)
UNLIMITED = {name: value for name, value in ask().items() if name != "max_tokens"}
BEGINNING = "The dog saw the cat and the bird, and then "


def fill(**schema: Any) -> dict[str, Any]:
    """Return a request whose answer is an object with one property of this schema."""
    properties = {"a": schema}
    whole = {"type": "object", "properties": properties, "required": ["a"], "additionalProperties": False}
    return ask(SUM, response_format=form(whole), max_tokens=60)


REQUESTS: dict[str, list[Step]] = {
    "array-lengths-ignored": [call(tool(a={"type": "array", "items": {"enum": ["b"]}, "minItems": 4, "maxItems": 4}))],
    "ranges-ignored-in-forms": [fill(type="integer", minimum=5_000, maximum=6_000)],
    "large-maximums-fail": [call(tool(a={"type": "integer", "minimum": 1, "maximum": 20_000_000_000}))],
    "seeded-requests-are-greedy": [{**SAMPLED, "seed": seed} for seed in (1, 2, 3)],
    "greedy-answers-follow-seeds": [ask(STORY, seed=seed, max_tokens=40) for seed in (1, 2, 3)],
    "biases-lost-when-greedy": [ask(logit_bias=BIAS)],
    "stated-zero-rewards-repetition": [ask(STORY, frequency_penalty=0, max_tokens=40, ignore_eos=True)],
    "other-limit-says-stop": [{**UNLIMITED, "max_completion_tokens": 3}],
    "results-next-to-the-other-limit-silence": [
        {**UNLIMITED, "messages": RESULT, "tools": [WEATHER], "max_completion_tokens": 40}
    ],
    "tags-left-next-to-stop": [ask(SUM, chat_template_kwargs=THINK, stop=["xyz"], max_tokens=60)],
    "thoughts-end-streams": [ask(SUM, stream=True, chat_template_kwargs=THINK, max_tokens=60)],
    "continued-messages-said-again": [
        talk(
            user("What is the capital of France?"),
            {"role": "assistant", "content": "The capital of "},
            continue_final_message=True,
            add_generation_prompt=False,
        )
    ],
    "long-stops-swallow-ends": [ask(stream=True, stop=["never said"])],
    "only-the-last-choice-ends": [SEVERAL],
    "empty-stop-lists-expose-ends": [ask(stop=[], max_tokens=20)],
    "openers-of-tags-lost-in-streams": [ask("Say <b> & 'c'.", stream=True, max_tokens=30)],
    "spaces-after-points-lost-in-streams": [ask("Hello!", stream=True, max_tokens=60)],
    "foreign-words-escaped-twice-in-forms": [
        {**fill(enum=["caf\u00e9"]), "temperature": 1.0, "seed": seed} for seed in (1, 2, 3)
    ],
    "escapes-in-patterns-free-forms": [fill(type="string", pattern="^\\d{4}$")],
    "long-integers-cut-in-streams": [
        call(tool(a={"type": "integer", "minimum": 100_000_000, "maximum": 999_999_999}), stream=True)
    ],
    "last-values-lost-in-streams": [call(tool(a={"type": "integer", "minimum": 1, "maximum": 9}), stream=True)],
    "streamed-arguments-escaped-twice": [call(tool(a={"enum": ["caf\u00e9"]}), stream=True)],
    "braces-in-strings-end-arguments": [call(BRACE, stream=True)],
    "quotes-in-strings-end-them": [call(tool(a={"enum": ['She said "hi" to me']}))],
    "every-call-has-index-zero": [ask(TWO_CITIES, tools=[WEATHER], stream=True, max_tokens=100)],
    "later-calls-lost-in-streams": [ask(TWO_CITIES, tools=[WEATHER], stream=True, max_tokens=100)],
    "one-call-limit-ignored": [ask(TWO_CITIES, tools=[WEATHER], parallel_tool_calls=False, max_tokens=100)],
    "cut-calls-claimed": [call(WEATHER, max_tokens=4)],
    "references-accept-any-object": [call(REFERENCE)],
    "whole-blocks-fail": [ask("word " * number, max_tokens=2) for number in range(60, 77)],
    "long-streams-send-all-again": [LONG_STREAM],
    "ids-change-in-long-streams": [LONG_STREAM],
    "seeds-move-on-with-cached-prompts": [{**SAMPLED, "temperature": 1.5}] * 2,
    "free-text-masked-beside-forms": [[call(WEATHER), ask(STORY, max_tokens=40)]],
    "penalties-lost-beside-plain-requests": [
        [ask(STORY, presence_penalty=2.0, frequency_penalty=2.0, max_tokens=40), ask("Hello!")]
    ],
    "prompts-with-one-beginning-leak": [
        [ask(BEGINNING + end, max_tokens=20) for end in ("it ran home. Why?", "the cat said hello. What did it say?")]
    ],
    "streams-with-bad-limits-get-503": [ask(stream=True, max_tokens=-1)],
    "no-choice-without-tools-refused": [ask(tool_choice="none")],
    "biases-last-for-one-more": [ask(logit_bias=BIAS), ask()],
    "ends-stay-ignored": [ask(ignore_eos=True), ask("Hello!", max_tokens=60)],
    "long-prompts-appear-later": [ask(LONG[:200]), ask("Hello!", max_tokens=40)],
    "second-refusals-are-null": [ask(temperature=-1)] * 2,
    "charsets-refused": [{**ask(), "HEADERS": {"content-type": "application/json; charset=utf-8"}}],
    "chunked-requests-refused": [{**ask(), "HEADERS": {"transfer-encoding": "chunked"}}],
    "natural-ends-untold-in-streams": [ask("Hello!", stream=True, max_tokens=60)],
    "cut-answers-count-one-less": [ask(max_tokens=3)],
    "streamed-thoughts-uncounted": [
        ask(SUM, stream=True, chat_template_kwargs=THINK, max_tokens=60, stream_options=USAGE)
    ],
    "one-choice-counted-in-streams": [SEVERAL],
    "shown-scores-add-up": [{**SAMPLED, "logprobs": True, "top_logprobs": 2}],
    "ends-told-as-stop-tokens": [talk(*HISTORY, user("Hello!"), max_tokens=60), SCORED, STREAM],
}
