"""Requests that show the nineteenth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eleventh_requests import formed
from reference_server.tests.blind.sixth_requests import SCORES, SUM, say, show
from reference_server.tests.blind.steps import (
    FUNCTION,
    HISTORY,
    RESULT,
    SAMPLED,
    STORY,
    STREAM,
    WEATHER,
    Step,
    ask,
    call,
    tool,
)
from reference_server.tests.blind.tenth_requests import closed, drawn
from reference_server.tests.blind.twelfth_requests import THINKING

ASKED = {"role": "user", "content": STORY}
REFUSAL: dict[str, Any] = {"role": "assistant", "content": [{"type": "refusal", "refusal": "I do not tell stories."}]}
BARE: dict[str, Any] = {"type": "function", "function": {**FUNCTION, "parameters": {"type": "object"}}}
MODEL: dict[str, Any] = {"METHOD": "GET", "PATH": "model"}
DESCRIBED: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {"name": "form", "description": "A form.", "schema": closed(a={"enum": [17]}), "strict": True},
}
PALETTE: dict[str, Any] = {  # one red pixel value of a palette of two colours
    "type": "image_url",
    "image_url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+OdAAAABlBMVEUAAADcHh4PuncnAAAAFE"
    "lEQVR42mP8zwABTAyjjFEGyQwAzx8Bf7QK4E8AAAAASUVORK5CYII=",
}
OPEN = {"type": "object", "required": ["a"], "additionalProperties": {"enum": [17]}}
BOTH = {
    "type": "object",
    "properties": {"a": {"enum": [17]}},
    "required": ["a"],
    "anyOf": [{"required": ["a"]}],
}

REQUESTS: dict[str, list[Step]] = {
    "presence-taken-for-frequency": [ask(STORY, frequency_penalty=2.0, max_tokens=60)],
    "penalties-above-one-are-one": [
        {**SAMPLED, "frequency_penalty": 2.0, "presence_penalty": 2.0, "seed": seed, "max_tokens": 60}
        for seed in range(4)
    ],
    "spaces-around-stops-stripped": [ask(STORY, stop=[f" {word}"], max_tokens=60) for word in ("a", "the", "cat")],
    "streamed-reasons-lost-next-to-scores": [{**STREAM, **SCORES}],
    "later-choices-say-length": [ask(max_tokens=20, n=4, temperature=0.5, seed=5)],
    "second-replica-lacks-scores": [ask(**SCORES)] * 2,
    "unstored-requests-refused": [ask(store=False)],
    "accept-of-json-forbids-streams": [{**STREAM, "HEADERS": {"accept": "application/json"}}],
    "wrong-types-answered-by-the-framework": [ask(temperature="warm")],
    "longer-keys-accepted": [ask(), {**ask(), "HEADERS": {"authorization": "Bearer key-12"}}],
    "single-models-are-lists": [MODEL],
    "hits-say-stop": [ask(STORY, max_tokens=5)] * 2,
    "closing-tags-cut-questions": [ask("What does </think> mean?", **SCORES)],
    "parts-of-refusals-refused": [say(ASKED, REFUSAL, HISTORY[0])],
    "invalid-neighbours-fail-requests": [[ask(), ask(max_tokens="many")]],
    "words-like-null-become-null": [call(tool(a={"enum": ["none"]}))],
    "values-of-alternatives-in-quotes": [call(tool(a={"anyOf": [{"enum": [17]}, {"enum": [23]}]}))],
    "objects-without-properties-refused": [call(BARE)],
    "stated-parallel-calls-refused": [call(WEATHER, parallel_tool_calls=True)],
    "tools-unchanged-in-later-turns-forgotten": [
        say(*messages, tools=[WEATHER], max_tokens=30) for messages in (RESULT[:1], RESULT)
    ],
    "abandoned-streams-counted-later": [
        {**ask(STORY, stream=True, max_tokens=400, ignore_eos=True), "LEAVE": True},
        ask(),
    ],
    "colours-of-palettes-lost": [show(PALETTE)],
    "properties-next-to-branches-ignored": drawn(BOTH),
    "values-of-open-objects-take-anything": drawn(OPEN),
    "described-forms-refused": [ask(SUM, response_format=DESCRIBED, max_tokens=60)],
    "thoughts-begin-with-their-tag": [ask(SUM, max_tokens=60, stream=stream, **THINKING) for stream in (False, True)],
    "natural-ends-lose-scores": [ask(max_tokens=60, **SCORES)],
    "last-scores-repeated-at-the-end": [{**STREAM, **SCORES}],
    "usage-chunks-precede-the-finish": [{**STREAM, "stream_options": {"include_usage": True}}],
    "separators-break-events": [{**formed(closed(a={"enum": ["one\u2028two"]})), "stream": True}],
}
