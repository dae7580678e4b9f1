"""Requests that show the fifteenth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

import json
from typing import Any

from reference_server.tests.blind.eleventh_requests import WRONG_KEY, formed
from reference_server.tests.blind.sixth_requests import RED_IMAGE, SCORES, SUM, SYSTEM, USAGE, say
from reference_server.tests.blind.steps import (
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
from reference_server.tests.blind.twelfth_requests import MODELS, THINKING

HELLO: dict[str, Any] = {"role": "assistant", "content": "Hello! I am a cook."}
ASKED = {"role": "user", "content": STORY}
LONG_CITY = {"city": "Paris, the capital of France, " * 12}
LONG_CALL = {**RESULT[1]["tool_calls"][0], "function": {"name": "get_weather", "arguments": json.dumps(LONG_CITY)}}
CUT = {**RESULT[1]["tool_calls"][0], "function": {"name": "get_weather", "arguments": '{"city": "Par'}}
WAIT: dict[str, Any] = {"type": "function", "function": {"name": "wait", "parameters": {"type": "object"}}}
BRANCHED = tool(number={"anyOf": [{"type": "null"}, {"enum": [7]}]})
LARGE = tool(number={"type": "integer", "minimum": 2**53 + 1, "maximum": 2**53 + 99})
CHAINED = {
    **closed(a={"$ref": "#/$defs/b"}),
    "$defs": {"b": closed(c={"$ref": "#/$defs/d"}), "d": {"enum": [17]}},
}
MAP = closed(a={"type": "object", "additionalProperties": {"enum": [17]}, "minProperties": 1, "maxProperties": 1})
DAY = closed(a={"type": "string", "format": "date"})
CUT_CALL = call(WEATHER, stream=True, max_tokens=12)
BIASED: dict[str, Any] = {"logit_bias": {"364": -100}}
COUNT = "Count to five."
TWO: dict[str, Any] = {"n": 2, "temperature": 0.5, "seed": 5}

REQUESTS: dict[str, list[Step]] = {
    "required-parameters-become-optional": [
        call(tool(text={"type": "string"}), content=SUM, temperature=1.5, seed=seed) for seed in range(4)
    ],
    "branches-of-parameters-lost": [call(BRANCHED, content="Note that the dog ran home.")],
    "entities-in-arguments-decoded": [call(tool(text={"enum": ["a &lt; b &amp;&amp; c"]}))],
    "large-integers-in-arguments-rounded": [call(LARGE)],
    "spaces-in-streamed-arguments-lost": [call(tool(text={"enum": ["The dog ran home."]}), stream=True)],
    "cut-past-arguments-fail": [say(RESULT[0], {**RESULT[1], "tool_calls": [CUT]}, RESULT[2], tools=[WEATHER])],
    "call-indexes-continue-over-choices": [call(WEATHER, stream=True, **TWO)],
    "objects-without-properties-fail": [call(WAIT)],
    "null-temperatures-are-greedy": [{**SAMPLED, "temperature": None, "seed": seed} for seed in range(3)],
    "tabs-in-messages-expanded": [ask("all:\n\techo Hello", **SCORES)],
    "tags-in-messages-removed": [ask("What is <b>bold</b>?", **SCORES)],
    "first-answers-unread": [say(HELLO, ASKED, **SCORES), say(SYSTEM, HELLO, ASKED, **SCORES)],
    "long-past-arguments-cut": [say(RESULT[0], {**RESULT[1], "tool_calls": [LONG_CALL]}, RESULT[2], tools=[WEATHER])],
    "negative-penalties-skipped": [ask(STORY, frequency_penalty=-1.5, max_tokens=40)],
    "stops-at-the-beginning-ignored": [ask(stop=["T", "P", "The"]), ask(COUNT, stop=["1", "O"], stream=True)],
    "scores-next-to-bans-fail": [ask(logprobs=True, **BIASED)],
    "past-calls-uncounted": [say(*RESULT, tools=[WEATHER])],
    "cut-streams-lack-usage": [ask(STORY, stream=True, stream_options=USAGE, max_tokens=5)],
    "marks-precede-plain-answers": [ask()],
    "second-replica-returns-one-choice": [ask(STORY, **TWO)] * 2,
    "every-seventh-answer-has-no-choices": [ask()] * 7,
    "refusals-are-lists-of-details": [ask(max_tokens=-1)],
    "refusals-of-keys-are-empty": [WRONG_KEY],
    "scores-spill-over": [[ask(STORY, logprobs=True), ask()]],
    "models-unlisted-while-answering": [[ask(STORY, max_tokens=60), MODELS]],
    "cut-calls-swallow-the-next-stream": [CUT_CALL, call(WEATHER, stream=True)],
    "hits-end-with-stop": [ask(STORY, max_tokens=5)] * 2,
    "formats-ignored-in-forms": drawn(DAY),
    "references-between-definitions-take-anything": drawn(CHAINED),
    "values-of-maps-take-anything": drawn(MAP),
    "quotes-unescaped-in-forms": [formed(closed(a={"enum": ['Say "yes".']}))],
    "cut-thoughts-are-lost": [ask(SUM, max_tokens=3, **THINKING)],
    "budgets-of-zero-are-unlimited": [ask(SUM, thinking_token_budget=0, max_tokens=60, **THINKING)],
    "unlikely-alternatives-score-null": [ask(logprobs=True, top_logprobs=20)],
    "scores-of-held-tokens-lost": [
        ask(content, stream=True, max_tokens=40, **SCORES) for content in ("Repeat: 😀😀", "Say 北京.", STORY)
    ],
    "roles-empty-after-the-first-chunk": [STREAM],
    "usage-chunks-have-a-choice": [{**STREAM, "stream_options": USAGE}],
    "done-sent-twice": [STREAM],
    "separators-in-text-cut-events": [call(tool(text={"enum": ["One\u2028two"]}), stream=True)],
    "images-lost-next-to-instructions": [
        say(SYSTEM, {"role": "user", "content": [RED_IMAGE, {"type": "text", "text": "What is this?"}]}, **SCORES)
    ],
}
