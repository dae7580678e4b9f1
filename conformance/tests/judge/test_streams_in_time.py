"""When a compressed stream counts as held back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.check_registry import gather_checks

if TYPE_CHECKING:
    from conformance.check import Context

CHECK = gather_checks()["http.coded-stream-in-time"]
NOTHING = cast("Context", None)
STEPS = ("streamed", "streamed-gzip", "streamed-gzip-again")
EVENTS = 20


def stream(first_s: float, last_s: float) -> Exchange:
    """Return a stream whose events arrive at equal distances."""
    step_s = (last_s - first_s) / EVENTS
    segments = tuple(
        Segment(
            first_s + at * step_s,
            b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"content": "a"}}]}).encode(),
        )
        for at in range(EVENTS + 1)
    )
    headers = (("content-type", "text/event-stream"),)
    response = Response(200, "", "HTTP/1.1", headers, segments, first_s, last_s, complete=True)
    request = Request("POST", "u", (), json.dumps({"stream": True}).encode())
    return Exchange("e", "s", "main", request, response, None, "2026-11-22T00:00:00+00:00")


@pytest.mark.parametrize(
    ("usual", "coded", "again", "found"),
    [
        ((0.1, 2.0), (1.9, 1.95), (1.9, 1.95), 1),
        ((0.1, 2.0), (1.9, 1.95), (0.1, 2.0), 0),
        ((0.1, 2.0), (0.05, 0.4), (0.05, 0.4), 0),
        ((0.05, 0.1), (0.05, 0.1), (0.05, 0.1), 0),
    ],
    ids=["held back", "once", "faster than the other", "all fast"],
)
def test_a_stream_is_held_back_if_it_arrives_at_once_twice_and_never_if_it_spreads_over_its_own_time(
    usual: tuple[float, float], coded: tuple[float, float], again: tuple[float, float], found: int
) -> None:
    exchanges = {name: stream(*times) for name, times in zip(STEPS, (usual, coded, again), strict=True)}
    assert found == len(list(CHECK.judge(exchanges, NOTHING)))
