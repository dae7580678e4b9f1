"""Requests that show the twenty-first set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eleventh_requests import formed
from reference_server.tests.blind.sixth_requests import BLUE_IMAGE, RED_IMAGE, SUM, SYSTEM, THINK, USAGE, say, show
from reference_server.tests.blind.steps import (
    FUNCTION,
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
)
from reference_server.tests.blind.tenth_requests import closed

THINKING: dict[str, Any] = {"chat_template_kwargs": THINK, "max_tokens": 80}
EARLIER = RESULT[1]["tool_calls"][0]
TWO_CALLS: dict[str, Any] = {**RESULT[1], "tool_calls": [EARLIER, {**EARLIER, "id": "call_2"}]}
TWO_RESULTS = [RESULT[0], TWO_CALLS, RESULT[2], {**RESULT[2], "tool_call_id": "call_2", "content": "Rainy."}]
FORECAST: dict[str, Any] = {"type": "function", "function": {**FUNCTION, "name": "get_weather_forecast"}}
UNDESCRIBED: dict[str, Any] = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": FUNCTION["parameters"]},
}
BRIEF = {"role": "developer", "content": "You always answer in French."}
ASKED = {"role": "user", "content": STORY}
SILENT: dict[str, Any] = {"role": "assistant", "content": "Hello!", "tool_calls": None}
BIASED = ask(STORY, logit_bias={str(token): -100 for token in range(300, 900)}, max_tokens=40)
KEY = "bearer key-1"

REQUESTS: dict[str, list[Step]] = {
    "later-results-of-calls-lost": [say(*TWO_RESULTS, tools=[WEATHER], max_tokens=60)],
    "shorter-names-of-tools-win": [
        call(FORECAST, WEATHER, tool_choice={"type": "function", "function": {"name": "get_weather_forecast"}})
    ],
    "undescribed-tools-refused": [call(UNDESCRIBED)],
    "numbers-in-lists-of-values-become-strings": [formed(closed(a={"type": "integer", "enum": [17, 23]}))],
    "later-choices-of-forms-fenced": [ask(SUM, response_format=form(), n=2, temperature=1.0, seed=5, max_tokens=40)],
    "forms-lose-scores": [{**SCORED, "response_format": form(), "max_tokens": 40}],
    "stops-found-in-prompts": [ask(STORY, stop=["dog and"], max_tokens=30)],
    "stop-ids-lost-next-to-stops": [
        ask(STORY, stop=["zebra"], stop_token_ids=list(range(300, 1000)), max_tokens=40, ignore_eos=True)
    ],
    "top-p-turns-sampling-on": [ask(STORY, top_p=0.95, max_tokens=80, seed=seed) for seed in range(3)],
    "positive-temperatures-raised": [{**SAMPLED, "temperature": 0.7, "max_tokens": 60}],
    "scores-have-another-base": [SCORED],
    "certain-tokens-lack-scores": [{**SCORED, "max_tokens": 40}],
    "streams-count-the-last-message": [say(*HISTORY, ASKED, stream=True)],
    "streams-of-calls-lack-usage": [call(WEATHER, stream=True, stream_options=USAGE)],
    "repeated-messages-dropped": [say(*HISTORY, *HISTORY, ASKED)],
    "long-messages-lose-their-middle": [ask(LONG)],
    "developers-yield-to-systems": [say(SYSTEM, BRIEF, ASKED)],
    "null-calls-are-failures": [say(HISTORY[0], SILENT, ASKED)],
    "later-choices-tell-their-thoughts": [ask(SUM, n=2, temperature=1.0, seed=5, **THINKING)],
    "streams-with-tools-tell-their-thoughts": [ask(SUM, stream=True, tools=[WEATHER], **THINKING)],
    "images-that-begin-alike-confused": [show(RED_IMAGE, BLUE_IMAGE)],
    "cut-streams-lose-their-last-piece": [ask(STORY, stream=True, max_tokens=5)],
    "cut-calls-of-streams-look-complete": [call(WEATHER, stream=True, max_tokens=14)],
    "refused-streams-have-the-type-of-streams": [{**STREAM, "temperature": -1}],
    "lower-case-schemes-refused": [{**ask(), "HEADERS": {"authorization": KEY}}],
    "chunked-requests-have-no-body": [{**ask(), "HEADERS": {"transfer-encoding": "chunked"}}],
    "biases-spread-in-crowds": [[BIASED, ask(STORY, max_tokens=40)]],
    "scores-fail-in-crowds": [[SCORED, {**SCORED, "max_tokens": 10}]],
    "crowded-streams-tell-their-thoughts": [
        [ask(SUM, stream=True, **THINKING), ask(STORY, stream=True, max_tokens=40)]
    ],
    "cached-answers-ignore-numbers": [ask(SUM), ask("What is 4 plus 5?")],
}
