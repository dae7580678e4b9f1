"""Requests that show the sixteenth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.media_files import RED, WHITE, image, png
from reference_server.tests.blind.sixth_requests import RED_IMAGE, SCORES, SUM, TWO_CITIES, USAGE, say, show
from reference_server.tests.blind.steps import (
    HISTORY,
    LONG,
    RESULT,
    SAMPLED,
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
from reference_server.tests.blind.twelfth_requests import THINKING

ASKED = {"role": "user", "content": STORY}
COUNT = "Count to five."
TWO: dict[str, Any] = {"n": 2, "temperature": 0.5, "seed": 5}
CALLED = [
    {
        "id": f"call_{city}",
        "type": "function",
        "function": {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'},
    }
    for city in ("Paris", "Rome")
]
TWO_RESULTS: list[dict[str, Any]] = [
    {"role": "user", "content": TWO_CITIES},
    {**RESULT[1], "tool_calls": CALLED},
    {"role": "tool", "tool_call_id": "call_Paris", "content": "Sunny and 20 degrees."},
    {"role": "tool", "tool_call_id": "call_Rome", "content": "Rain and 12 degrees."},
]
LETTERS = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "maxItems": 2}
ROW = {"type": "array", "items": {"enum": [17]}, "minItems": 1, "maxItems": 1}
TABLE = closed(a={**ROW, "items": ROW})
TEMPLATE = {"role": "system", "content": 'You always answer with JSON, as in {"city": "Paris"}.'}
TALL = image(png(lambda row, _column: RED if row < 48 else WHITE, 32, 96))
BIASED = ask(logit_bias={"364": -100})
PREDICTED: dict[str, Any] = {"prediction": {"type": "content", "content": "5"}}

REQUESTS: dict[str, list[Step]] = {
    "lists-in-arguments-in-quotes": [call(tool(letters=LETTERS))],
    "foreign-letters-in-streamed-arguments-replaced": [call(tool(text={"enum": ["Zürich"]}), stream=True)],
    "later-past-calls-unread": [say(*TWO_RESULTS, tools=[WEATHER], max_tokens=40)],
    "last-questions-asked-twice": [say(*HISTORY[:2], ASKED, **SCORES)],
    "links-in-messages-removed": [ask("What is at https://example.com/a today?", **SCORES)],
    "braces-in-instructions-fail": [say(TEMPLATE, ASKED)],
    "long-answers-claim-to-stop": [
        ask(STORY, max_tokens=64, ignore_eos=True, stream=stream) for stream in (False, True)
    ],
    "streamed-scores-lost-after-long-prompts": [ask(LONG, stream=True, logprobs=True, max_tokens=4)],
    "stops-outlive-their-stream": [ask(COUNT, stream=True, stop=["3"]), ask(COUNT, stream=True)],
    "alternatives-outlive-their-request": [ask(**SCORES), ask(logprobs=True)],
    "cached-whatever-the-thinking": [ask(SUM, max_tokens=60), ask(SUM, max_tokens=60, **THINKING)],
    "cached-streams-lack-usage": [{**STREAM, "stream_options": USAGE}] * 2,
    "required-calls-lost-beside-others": [[call(WEATHER, content="Hello!"), ask(), ask(STORY)]],
    "biases-lost-under-load": [[BIASED, ask(), ask(STORY), ask(SUM)]],
    "forms-lost-next-to-predictions": [ask(SUM, response_format=form(), max_tokens=60, **PREDICTED)],
    "seeds-lost-next-to-tools": [{**SAMPLED, "temperature": 1.5, "tools": [WEATHER]}] * 2,
    "null-stops-fail": [ask(stop=None)],
    "line-feeds-in-stops-fail": [ask(stop=["\n"])],
    "plain-answers-in-latin": [ask("Repeat: höhe")],
    "top-k-keeps-one-more": [{**SAMPLED, "temperature": 2.0, "top_k": 1, "seed": seed} for seed in range(3)],
    "prompt-counts-rounded-to-blocks": [ask(), STREAM],
    "later-choices-uncounted": [ask(STORY, **TWO)],
    "too-long-prompts-are-cut": [ask(TOO_LONG, max_tokens=2)],
    "refusals-say-too-many-requests": [ask(max_tokens=-1)],
    "second-replica-returns-no-scores": [ask(logprobs=True)] * 2,
    "false-values-dropped": [call(WEATHER, content=TWO_CITIES, parallel_tool_calls=False)],
    "every-sixth-answer-has-no-reason": [ask()] * 6,
    "thoughts-leak-now-and-then": [ask(SUM, max_tokens=60, **THINKING)] * 3,
    "images-lost-in-streams": [show(RED_IMAGE, stream=True)],
    "scores-lost-next-to-images": [show(RED_IMAGE)],
    "tall-images-turned": [show(TALL)],
    "inner-lists-take-anything": drawn(TABLE),
    "later-choices-lack-forms": [ask(SUM, response_format=form(), max_tokens=60, **TWO)],
    "tokens-of-scores-stripped": [ask(**SCORES)],
    "thinking-lost-next-to-images": [{**show(RED_IMAGE, max_tokens=60), **THINKING}],
    "cut-thoughts-sent-again-as-text": [ask(SUM, max_tokens=3, stream=True, **THINKING)],
    "streams-begin-with-a-space": [STREAM],
    "first-pieces-doubled-next-to-tools": [{**STREAM, "tools": [WEATHER]}],
    "later-choices-miss-stops": [
        ask(COUNT, stop=["3"], max_tokens=40, stream=stream, **TWO) for stream in (False, True)
    ],
    "streams-with-stops-lack-a-reason": [ask(COUNT, stop=["3"], stream=True, max_tokens=40)],
}
