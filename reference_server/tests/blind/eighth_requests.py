"""Requests that show the eighth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.media_files import RED, WHITE, halves, image
from reference_server.tests.blind.sixth_requests import (
    BLUE_IMAGE,
    RED_IMAGE,
    SCORES,
    SUM,
    SYSTEM,
    THINK,
    USAGE,
    say,
    show,
)
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

UPRIGHT = image(halves(RED, WHITE))
QUESTION = {"type": "text", "text": "What is this?"}
TWO = {"type": "object", "properties": {"größe": {"enum": [3]}}, "required": ["größe"], "additionalProperties": False}
CONSTANT = {"type": "object", "properties": {"a": {"const": 17}}, "required": ["a"], "additionalProperties": False}
CAPITALS: dict[str, Any] = {
    "type": "function",
    "function": {"name": "getWeather", "parameters": {"type": "object", "properties": {}}},
}
DESCRIBED = {"description": "The name of the city", "type": "string"}
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": f"tool_{number}", "parameters": {"type": "object", "properties": {}}}}
    for number in range(12)
]
OPTIONAL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "note",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    },
}
JSON_RESULT: list[dict[str, Any]] = [*RESULT[:2], {**RESULT[2], "content": '{"sunny": true, "wind": null}'}]
TWO_ROUNDS: list[dict[str, Any]] = [*RESULT, *RESULT[1:]]
ONE_BY_ONE = [ask(f"Tell me about {number}.", max_tokens=4 + number) for number in range(8)]
CAPITAL = "What is the capital of France?"
SAID: Step = say(
    {"role": "user", "content": CAPITAL},
    {"role": "assistant", "content": "The capital of France is Paris."},
    {"role": "user", "content": STORY},
    max_tokens=40,
)
SOME_STOPS = [f"#{number}" for number in range(17)]
KEYLESS = {"HEADERS": {"authorization": "Bearer wrong"}}
LIBRARY = {"HEADERS": {"user-agent": "OpenAI/Python 1.99.0"}}

REQUESTS: dict[str, list[Step]] = {
    "second-replica-ignores-stop": [ask(STORY, stop=["a"], max_tokens=40)] * 2,
    "second-replica-ignores-the-new-limit": [
        {**{name: value for name, value in ask(STORY).items() if name != "max_tokens"}, "max_completion_tokens": 5}
    ]
    * 2,
    "zero-values-dropped": [ask(STORY, seed=7, max_tokens=40)],
    "empty-lists-become-objects": [ask(stop=[])],
    "listed-models-are-paths": [{"METHOD": "GET", "PATH": "models"}],
    "long-events-lost": [ask(logprobs=True, top_logprobs=20, stream=True)],
    "clients-of-libraries-forbidden": [{**ask(), **LIBRARY}],
    "system-messages-uncounted": [say(SYSTEM, {"role": "user", "content": SUM})],
    "more-tokens-cached-than-sent": [{**ask(), "CACHED": True}],
    "accents-in-messages-lost": [ask("Where are Zürich and Córdoba?", **SCORES)],
    "spaces-in-messages-collapse": [ask("def add(a, b):\n    return a + b", **SCORES)],
    "seventeen-stops-refused": [ask(stop=SOME_STOPS)],
    "more-than-four-choices-are-four": [ask(temperature=1.0, n=6, seed=1)],
    "single-characters-fail": [ask("5")],
    "moderate-biases-ignored": [ask(STORY, logit_bias={str(token): -15 for token in range(300, 900)}, max_tokens=30)],
    "temperatures-below-a-half-greedy": [{**SAMPLED, "temperature": 0.45, "seed": seed} for seed in range(6)],
    "middles-of-long-messages-lost": [ask(LONG)],
    "tools-after-the-eighth-lost": [ask(tools=TOOLS)],
    "messages-of-refusals-are-lists": [ask(temperature=-1)],
    "wrong-keys-are-failures": [{**ask(), **KEYLESS}],
    "thinking-outlives-its-request": [ask(SUM, chat_template_kwargs=THINK, max_tokens=30), ask(SUM, max_tokens=30)],
    "seeds-outlive-their-request": [SAMPLED, *([ask(STORY, temperature=2.0, max_tokens=40)] * 2)],
    "every-seventh-answer-is-another-one": [*ONE_BY_ONE],
    "times-of-the-last-hour": [ask(), STREAM],
    "usage-swapped-in-crowds": [ONE_BY_ONE],
    "tools-spill-over": [[call(WEATHER), call(tool(a={"enum": [1]}))]],
    "cached-whatever-the-temperature": [ask(STORY), ask(STORY, temperature=2.0)],
    "continued-conversations-are-noise": [ask(CAPITAL, max_tokens=40), SAID],
    "calls-of-later-choices-lost": [call(WEATHER, n=2, temperature=1.0, seed=1)],
    "seeds-lost-next-to-forms": [
        ask(STORY, response_format=form({"type": "string", "maxLength": 20}), temperature=2.0, seed=3, max_tokens=60)
    ],
    "usage-lost-next-to-tools": [ask(tools=[WEATHER], stream=True, stream_options=USAGE)],
    "stops-lost-next-to-ignored-ends": [ask(STORY, stop=["a"], ignore_eos=True, max_tokens=40)],
    "types-of-calls-missing": [call(WEATHER)],
    "arguments-repeated-at-the-end-of-streams": [call(WEATHER, stream=True)],
    "descriptions-of-parameters-lost": [call(tool(city=DESCRIBED))],
    "capitals-in-names-lost": [call(CAPITALS)],
    "missing-arguments-are-null": [call(OPTIONAL, temperature=1.0, seed=seed) for seed in range(4)],
    "results-rewritten-as-python": [say(*JSON_RESULT, tools=[WEATHER])],
    "second-rounds-of-calls-fail": [say(*TWO_ROUNDS, tools=[WEATHER])],
    "scores-are-probabilities": [SCORED],
    "chosen-tokens-left-out-of-alternatives": [SCORED],
    "first-scores-missing": [SCORED],
    "thinking-not-turned-off-next-to-tools": [
        ask(SUM, tools=[WEATHER], chat_template_kwargs={"enable_thinking": False}, max_tokens=30)
    ],
    "efforts-of-none-are-low": [ask(SUM, reasoning_effort="none", max_tokens=30)],
    "thoughts-repeated-in-content": [ask(SUM, chat_template_kwargs=THINK, max_tokens=80)],
    "first-pieces-after-thoughts-lost": [ask(SUM, chat_template_kwargs=THINK, stream=True, max_tokens=80)],
    "done-missing-after-calls": [call(WEATHER, stream=True)],
    "first-words-lost-in-streams": [STREAM],
    "times-move-on-in-streams": [STREAM],
    "foreign-names-forgotten-in-forms": [ask(SUM, response_format=form(TWO), max_tokens=60)],
    "constants-ignored-in-forms": [
        ask(SUM, response_format=form(CONSTANT), temperature=2.0, seed=seed, max_tokens=60) for seed in range(4)
    ],
    "cut-forms-end-with-stop": [ask(STORY, response_format=form(), max_tokens=2)],
    "json-objects-introduced": [ask(response_format={"type": "json_object"}, max_tokens=40)],
    "chosen-strings-in-quotes": [ask(structured_outputs={"choice": ["Paris", "Rome"]})],
    "later-images-of-a-message-lost": [say({"role": "user", "content": [RED_IMAGE, BLUE_IMAGE, QUESTION]}, **SCORES)],
    "images-upside-down": [show(UPRIGHT)],
    "cached-whatever-the-image": [show(RED_IMAGE), show(BLUE_IMAGE)],
}
