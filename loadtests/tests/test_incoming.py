"""Reads that are put by and taken many at a time: the same as one by one, whatever comes and however it is cut."""

from __future__ import annotations

import json
import random
from dataclasses import astuple
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from loadtests.client import stream_reader as incoming
from loadtests.client.answer import Answer
from loadtests.client.read_batching import Pace
from loadtests.client.stream_reader import Incoming
from loadtests.tests.scripted import DONE, chunked, content, event

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
USAGE = event(json.dumps({"choices": [], "usage": {"completion_tokens": 9}}))
FINISH = event(json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
TWO = content("x").replace(b'"content": "x"', b'"content": "x", "reasoning_content": "y"')
ROLE = content("")
LONG = [content(str(at)) for at in range(12)]
STREAMS: dict[str, bytes] = {
    "good": chunked(ROLE, *LONG, FINISH, USAGE, DONE),
    "several-in-a-chunk": chunked(*LONG, LONG[0] + LONG[1], *LONG, DONE),
    "an-event-over-chunks": chunked(*LONG, LONG[0][:30], LONG[0][30:], LONG[1][:-1], b"\n", *LONG, DONE),
    "line-feeds-alone": chunked(*LONG, b"\n", b"\n", LONG[0] + b"\n", b": hello\n\n", *LONG, DONE),
    "crlf": chunked(*[each.replace(b"\n", b"\r\n") for each in [*LONG, DONE]]),
    "mixed-line-ends": chunked(*LONG, LONG[0] + b"\r\n", LONG[1].replace(b"\n\n", b"\n\n\r"), *LONG, b"\r\r", DONE),
    "two-texts-and-none": chunked(*LONG, TWO, ROLE, TWO, ROLE, *LONG, DONE),
    "error-in-mid-stream": chunked(*LONG, event('{"error": {"message": "gone"}}'), *LONG, DONE),
    "no-done": chunked(*LONG),
    "done-twice": chunked(*LONG, DONE, *LONG, DONE),
    "usage-early": chunked(LONG[0], USAGE, *LONG, *LONG, DONE),
    "several-lines": chunked(*LONG, b"id: 1\n" + LONG[0], b"event: error\n" + LONG[1], *LONG, DONE),
    "trailers": chunked(*LONG, DONE)[:-2] + b"X-Sum: 1\r\n\r\n",
    "more-after-the-end": chunked(*LONG, DONE) + b"HTTP/1.1 200 OK\r\n\r\n\n\n\r\n",
    "malformed": chunked(*LONG)[:-5] + b"zz\r\n" + LONG[0] + b"\r\n" + chunked(*LONG, DONE)[-400:],
    "no-length": HEAD + b"\r\n" + b"".join([*LONG, DONE]),
    "with-a-length": HEAD + b"Content-Length: %d\r\n\r\n" % len(b"".join([*LONG, DONE])) + b"".join([*LONG, DONE]),
    "cut-off": chunked(*LONG, DONE)[:-40],
}


def taken(reads: Sequence[bytes], looks: set[int], *, holds: bool) -> tuple[Any, ...]:
    """All that is known of an answer at its end, or when the connection ends; `looks`: after which reads it is asked
    for what has come."""
    answer = Answer(0)
    read = Incoming(answer, streamed=True, sampled=True, pace=Pace(), holds=holds)
    for at, data in enumerate(reads, 1):
        if read.feed_at(data, at) or (at in looks and read.settle()):
            break
    else:
        read.cut("the end", len(reads) + 1)
    return read.finished, read.reusable, *astuple(answer)


def cut(data: bytes, rng: random.Random) -> list[bytes]:
    """Bytes in pieces: some anywhere, most where an HTTP chunk ends, as servers send them."""
    ends = {at + 4 for at in range(len(data)) if data.startswith(b"\n\n\r\n", at)}
    kept = {at for at in ends if rng.random() < rng.choice((0.5, 0.9, 1.0))}
    anywhere = set(rng.sample(range(1, len(data)), rng.choice((0, 0, 1, 5))))
    cuts = sorted({0, len(data)} | kept | anywhere)
    return [data[start:end] for start, end in pairwise(cuts)]


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_put_by_is_taken_as_if_it_had_been_taken_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(name)
    data = STREAMS[name]
    for _ in range(150):
        monkeypatch.setattr(incoming, "FIRST_HELD", rng.choice((1, 2, 8, 64)))
        monkeypatch.setattr(incoming, "MOST_EVENTS", rng.choice((7, 20, 1000)))
        monkeypatch.setattr(incoming, "LARGEST_SAMPLE", rng.choice((700, 10**6)))
        reads = cut(data, rng)
        looks = set(rng.sample(range(len(reads)), min(len(reads), rng.choice((0, 1, 3)))))
        assert taken(reads, set(), holds=False) == taken(reads, looks, holds=True)


@pytest.mark.parametrize("name", ["good", "crlf", "no-length", "malformed"])
def test_one_cut_makes_no_difference_wherever_it_is(name: str) -> None:
    data = STREAMS[name]
    for at in range(1, len(data), 3):
        reads = [data[:at], data[at:]]
        assert taken(reads, set(), holds=False) == taken(reads, {1}, holds=True)


def test_reads_are_put_by_until_somebody_asks_and_keep_their_times() -> None:
    answer = Answer(0)
    read = Incoming(answer, streamed=True)
    whole = chunked(*LONG)
    ends = [at + 4 for at in range(len(whole)) if whole.startswith(b"\n\n\r\n", at)]
    reads = [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    for at, data in enumerate(reads[:6], 1):
        read.feed_at(data, at)
    assert [1] == list(answer.stamps_ns)
    read.settle()
    assert ([1, 2, 3, 4, 5, 6], [1] * 6) == (list(answer.stamps_ns), list(answer.counts))


def test_an_answer_that_failed_leaves_no_connection_to_reuse() -> None:
    read = Incoming(Answer(0), streamed=True)
    read.feed_at(chunked(*LONG)[:-10], 1)
    read.fail("timeout", "no end", 2)
    assert not read.reusable
