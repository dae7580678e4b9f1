"""Conformance under load: what a sampled stream is accused of, and that a good one is accused of nothing."""

from __future__ import annotations

import json
from typing import Any

import gevent
import pytest

from loadtests.client.answer import Answer
from loadtests.client.sse_scan import Scan
from loadtests.measure import stream_checks as judging
from loadtests.measure.stream_checks import findings
from loadtests.shape.workload import Request

CANARY = "ref-00000001"


def chunk(text: str | None, finish: str | None = None, **more: Any) -> str:
    delta = {} if text is None else {"content": text}
    return json.dumps({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def usage(prompt: int, completion: int, total: int) -> str:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return json.dumps({"id": "c", "choices": [], "usage": counts})


GOOD = [chunk("ha"), chunk("ha"), chunk(None, "stop"), usage(3, 3, 6), "[DONE]"]


def accused(events: list[str], request: Request = Request(b"", True, CANARY)) -> set[str]:  # noqa: B008 - frozen
    data = "".join(f"data: {event}\n\n" for event in events).encode()
    read = Scan()
    read.feed(data, 1)
    answer = Answer(0, stamps_ns=read.stamps_ns, counts=read.counts, segments=[(1, data)])
    return {rule for rule, _ in findings(answer, request)}


def test_a_good_stream_is_accused_of_nothing() -> None:
    assert set() == accused(GOOD)


BROKEN = {
    "repeated-events": [chunk("ha"), chunk("ho"), chunk("ho"), chunk(None, "stop"), usage(3, 2, 5), "[DONE]"],
    "usage-is-sum": [*GOOD[:3], usage(3, 3, 7), "[DONE]"],
    "usage-counts": [GOOD[0], GOOD[2], usage(3, 0, 3), "[DONE]"],
    "crossed-answers": [chunk("ref-00000002"), *GOOD[2:]],
    "stream.done-last": GOOD[:-1],
    "stream.one-finish-per-choice": [GOOD[0], *GOOD[3:]],
    "stream.events-are-json": [GOOD[0], "{", *GOOD[2:]],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_stream_is_accused_of_what_it_breaks(rule: str) -> None:
    assert {rule} == accused(BROKEN[rule])


def test_others_have_their_turn_while_a_long_stream_is_judged() -> None:
    data = "".join(f"data: {each}\n\n" for each in [*GOOD[:1] * 1200, *GOOD[2:]]).encode()
    answer = Answer(0, stamps_ns=[1], counts=[1], segments=[(1, data[:1000]), (2, data[1000:])])
    turns: list[str] = []

    def other() -> None:
        while True:
            turns.append("other")
            gevent.sleep(0)

    def rest() -> None:
        turns.append("rest")
        gevent.sleep(judging.REST_S)

    greenlet = gevent.spawn(other)
    found = list(findings(answer, Request(b"", True, CANARY), rest))
    greenlet.kill()
    slices = len(data) // judging.BYTES + 1200 // judging.EVENTS
    assert turns.count("rest") >= slices
    assert all("other" in turns[at:] for at, turn in enumerate(turns[:-2]) if turn == "rest")
    assert found == list(findings(answer, Request(b"", True, CANARY)))


def test_the_own_word_in_an_answer_is_no_crossing() -> None:
    assert set() == accused([chunk(CANARY), *GOOD[2:]])


ASKED = Request(b"", streamed=True, canary=CANARY, tools=("get_weather",), must_call=True)


def calling(name: str, *arguments: str, finish: str = "tool_calls") -> list[str]:
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [first, *({"index": 0, "function": {"arguments": argument}} for argument in arguments)]
    events: list[Any] = [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None} for piece in pieces]
    events.append({"index": 0, "delta": {}, "finish_reason": finish})
    return [*(json.dumps({"id": "c", "choices": [event]}) for event in events), usage(3, 9, 12), "[DONE]"]


@pytest.mark.parametrize(
    ("events", "rules"),
    [
        (calling("get_weather", '{"ci', 'ty":"x"}'), set()),
        (calling("get_weather", '{"ci', finish="length"), set()),
        (calling("get_weather", '{"ci'), {"arguments-are-an-object"}),
        (calling("get_time", "{}"), {"calls-what-is-offered"}),
        (GOOD, {"calls-where-required"}),
    ],
)
def test_calls_in_a_stream_are_held_against_the_tools_of_its_request(events: list[str], rules: set[str]) -> None:
    assert rules == accused(events, ASKED)
