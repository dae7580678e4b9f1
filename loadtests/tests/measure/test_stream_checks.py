"""Violations in a sampled stream are reported by their rule, and a correct stream has none."""

from __future__ import annotations

import json
from typing import Any

import gevent
import pytest

from loadtests.client.answer import Answer
from loadtests.client.sse_scan import EventScan
from loadtests.measure.stream_checks import PAUSE_S, SLICE_BYTES, SLICE_EVENTS, check_stream
from loadtests.shape.workload import WorkloadRequest

CANARY = "ref-00000001"


def chunk(text: str | None, finish: str | None = None, **more: Any) -> str:
    delta = {} if text is None else {"content": text}
    return json.dumps({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def usage(prompt: int, completion: int, total: int) -> str:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return json.dumps({"id": "c", "choices": [], "usage": counts})


GOOD = [chunk("ha"), chunk("ha"), chunk(None, "stop"), usage(3, 3, 6), "[DONE]"]


def violated_rules(events: list[str], request: WorkloadRequest = WorkloadRequest(b"", True, CANARY)) -> set[str]:  # noqa: B008 - frozen
    data = "".join(f"data: {event}\n\n" for event in events).encode()
    scan = EventScan()
    scan.feed(data, 1)
    answer = Answer(0, stamps_ns=scan.stamps_ns, counts=scan.counts, segments=[(1, data)])
    return {rule for rule, _ in check_stream(answer, request)}


def test_a_correct_stream_has_no_violations() -> None:
    assert set() == violated_rules(GOOD)


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
def test_a_violation_is_reported_by_its_rule(rule: str) -> None:
    assert {rule} == violated_rules(BROKEN[rule])


def test_other_greenlets_run_while_a_long_stream_is_checked() -> None:
    data = "".join(f"data: {event}\n\n" for event in [*GOOD[:1] * 1200, *GOOD[2:]]).encode()
    answer = Answer(0, stamps_ns=[1], counts=[1], segments=[(1, data[:1000]), (2, data[1000:])])
    turns: list[str] = []

    def other() -> None:
        while True:
            turns.append("other")
            gevent.sleep(0)

    def pause() -> None:
        turns.append("pause")
        gevent.sleep(PAUSE_S)

    greenlet = gevent.spawn(other)
    violations = list(check_stream(answer, WorkloadRequest(b"", True, CANARY), pause))
    greenlet.kill()
    slices = len(data) // SLICE_BYTES + 1200 // SLICE_EVENTS
    assert turns.count("pause") >= slices
    assert all("other" in turns[at:] for at, turn in enumerate(turns[:-2]) if turn == "pause")
    assert violations == list(check_stream(answer, WorkloadRequest(b"", True, CANARY)))


def test_an_answer_may_repeat_the_word_of_its_own_request() -> None:
    assert set() == violated_rules([chunk(CANARY), *GOOD[2:]])


WITH_TOOL = WorkloadRequest(b"", streamed=True, canary=CANARY, tools=("get_weather",), must_call=True)


def tool_call(name: str, *arguments: str, finish: str = "tool_calls") -> list[str]:
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [first, *({"index": 0, "function": {"arguments": argument}} for argument in arguments)]
    events: list[Any] = [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None} for piece in pieces]
    events.append({"index": 0, "delta": {}, "finish_reason": finish})
    return [*(json.dumps({"id": "c", "choices": [event]}) for event in events), usage(3, 9, 12), "[DONE]"]


@pytest.mark.parametrize(
    ("events", "rules"),
    [
        (tool_call("get_weather", '{"ci', 'ty":"x"}'), set()),
        (tool_call("get_weather", '{"ci', finish="length"), set()),
        (tool_call("get_weather", '{"ci'), {"arguments-are-an-object"}),
        (tool_call("get_time", "{}"), {"calls-what-is-offered"}),
        (GOOD, {"calls-where-required"}),
    ],
)
def test_tool_calls_are_compared_with_the_tools_of_the_request(events: list[str], rules: set[str]) -> None:
    assert rules == violated_rules(events, WITH_TOOL)
