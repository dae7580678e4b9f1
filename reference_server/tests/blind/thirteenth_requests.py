"""Requests that show the thirteenth set of blind faults: some to a server of its own for each."""

from __future__ import annotations

from typing import Any

from reference_server.tests.blind.eleventh_requests import formed
from reference_server.tests.blind.sixth_requests import BLUE_IMAGE, RED_IMAGE, SCORES, SEVERAL, SUM, THINK, say, show
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
    form,
)
from reference_server.tests.blind.tenth_requests import closed, drawn
from reference_server.tests.blind.twelfth_requests import THINKING


def renamed(name: str, **fields: Any) -> dict[str, Any]:
    """Return the tool for the weather with another name and with further fields."""
    return {"type": "function", "function": {**FUNCTION, "name": name, **fields}}


def past_call(call_id: str = "call_1", **fields: Any) -> list[dict[str, Any]]:
    """Return a conversation with a call that has this id and further fields."""
    called = {**RESULT[1]["tool_calls"][0], "id": call_id, **fields}
    return [RESULT[0], {**RESULT[1], "tool_calls": [called]}, {**RESULT[2], "tool_call_id": call_id}]


ASKED = {"role": "user", "content": STORY}
HELLO: dict[str, Any] = {"role": "assistant", "content": "Hello!"}
RULE = {"role": "system", "content": "You always answer with a number."}
HELLO_IN_PARTS = {"role": "assistant", "content": [{"type": "text", "text": "Hello!"}]}
RAIN = [*RESULT[:2], {**RESULT[2], "content": "Rain and 5 degrees."}]
TWO: dict[str, Any] = {"n": 2, "temperature": 0.5, "seed": 5}

REQUESTS: dict[str, list[Step]] = {
    "null-strictness-refused": [call(renamed("get_weather", strict=None))],
    "long-call-ids-refused": [say(*past_call("toolu_" + "a1" * 20), tools=[WEATHER])],
    "stated-text-refused": [ask(modalities=["text"])],
    "verbosities-refused": [ask(verbosity="low")],
    "last-answers-unread": [say(ASKED, HELLO, **SCORES)],
    "answers-in-parts-unread": [say(ASKED, HELLO_IN_PARTS, HISTORY[0], **SCORES)],
    "questions-in-a-row-unread": [say(ASKED, HISTORY[0], **SCORES)],
    "later-instructions-move-to-the-front": [say(ASKED, HELLO, RULE, HISTORY[0], **SCORES)],
    "other-spaces-replaced": [ask("It costs 5\u00a0euros.\u3000Why?", **SCORES)],
    "carriage-returns-removed": [ask("One.\r\nTwo.\r\nHow many lines?", **SCORES)],
    "zeros-lost-in-streams": [ask("Repeat: 10, 20, 30", stream=True, max_tokens=40)],
    "temperatures-lost-next-to-forms": drawn(closed(a={"type": "integer", "minimum": 10, "maximum": 99})),
    "seeds-lost-next-to-several": [{**SAMPLED, "n": 2, "temperature": 1.5}] * 2,
    "penalties-lost-in-streams": [ask(STORY, stream=True, frequency_penalty=2.0, max_tokens=60)],
    "several-are-one-next-to-tools": [call(WEATHER, **TWO)],
    "small-limits-raised-next-to-tools": [ask(STORY, tools=[WEATHER], max_tokens=5)],
    "required-choices-lost-after-results": [say(*RESULT, tools=[WEATHER], tool_choice="required", max_tokens=80)],
    "names-that-continue-another-cut": [
        call(renamed("get_weather_now"), renamed("get_weather"), tool_choice=choice, stream=stream)
        for choice in [{"type": "function", "function": {"name": "get_weather_now"}}]
        for stream in (False, True)
    ],
    "indexes-of-past-calls-refused": [say(*past_call(index=0), tools=[WEATHER])],
    "calls-of-withdrawn-tools-refused": [say(*RESULT, tools=[renamed("get_time")])],
    "refusals-blame-the-server": [ask(max_tokens=-1)],
    "streamed-prompts-contain-the-answer": [STREAM],
    "second-replica-names-its-deployment": [ask()] * 2,
    "encoded-slashes-not-found": [{"METHOD": "GET", "PATH": "model"}],
    "cached-whatever-the-results": [say(*result, tools=[WEATHER], max_tokens=30) for result in (RESULT, RAIN)],
    "images-cached-by-their-beginning": [show(picture) for picture in (RED_IMAGE, BLUE_IMAGE)],
    "penalties-count-the-last-answer": [ask(STORY, frequency_penalty=1.0, max_tokens=30)] * 2,
    "late-streams-lose-their-first-piece": [[STREAM, ask(STORY, stream=True, max_tokens=30)]],
    "leaving-ends-equal-requests": [
        [{**ask(STORY, stream=True, max_tokens=400, ignore_eos=True), **left} for left in ({"LEAVE": True}, {})]
    ],
    "first-end-ends-all-choices": [{**SEVERAL, "temperature": 1.5, "n": 4, "max_tokens": 60}],
    "streams-of-one-token-are-empty": [ask(stream=True, max_tokens=1)],
    "false-include-usage-brings-usage": [{**STREAM, "stream_options": {"include_usage": False}}],
    "streamed-scores-one-chunk-late": [{**STREAM, **SCORES}],
    "later-choices-lack-scores": [ask(STORY, logprobs=True, **TWO)],
    "cut-thoughts-end-with-stop": [ask(SUM, max_tokens=3, stream=stream, **THINKING) for stream in (False, True)],
    "thinking-lost-next-to-tools": [ask(SUM, chat_template_kwargs=THINK, tools=[WEATHER], max_tokens=60)],
    "negative-bounds-ignored-in-forms": drawn(closed(a={"type": "integer", "minimum": -9, "maximum": -1})),
    "forms-lost-in-later-turns": [say(ASKED, HELLO, HISTORY[0], response_format=form(), max_tokens=60)],
    "spaces-in-names-of-forms-fail": [formed(closed(**{"the answer": {"type": "integer"}}))],
    "images-without-text-refused": [say({"role": "user", "content": [RED_IMAGE]}, **SCORES)],
}
