"""Reads that are buffered and parsed many at a time give the same answer as reads that are parsed one by one."""

from __future__ import annotations

import json
import random
from dataclasses import astuple
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from loadtests.client import answer_parser, stream_reader
from loadtests.client.answer import Answer
from loadtests.client.answer_parser import AnswerParser
from loadtests.client.delayed_ack import DelayedAck
from loadtests.client.read_batching import ReadBatching
from loadtests.client.stream_reader import StreamReader
from loadtests.tests.scripted_server import DONE, chunked, content, event

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
USAGE = event(json.dumps({"choices": [], "usage": {"completion_tokens": 9}}))
FINISH = event(json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
TWO = content("x").replace(b'"content": "x"', b'"content": "x", "reasoning_content": "y"')
ROLE = content("")
LONG = [content(str(number)) for number in range(12)]
STREAMS: dict[str, bytes] = {
    "good": chunked(ROLE, *LONG, FINISH, USAGE, DONE),
    "several-in-a-chunk": chunked(*LONG, LONG[0] + LONG[1], *LONG, DONE),
    "an-event-over-chunks": chunked(*LONG, LONG[0][:30], LONG[0][30:], LONG[1][:-1], b"\n", *LONG, DONE),
    "line-feeds-alone": chunked(*LONG, b"\n", b"\n", LONG[0] + b"\n", b": hello\n\n", *LONG, DONE),
    "crlf": chunked(*[piece.replace(b"\n", b"\r\n") for piece in [*LONG, DONE]]),
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


def reader_of(parser: AnswerParser) -> StreamReader:
    """Return a reader without a connection: its reads are handed to `handle_read`."""
    connection: Any = SimpleNamespace(recvmsg=None, fileno=lambda: 0, abort=lambda: None)
    event_loop: Any = SimpleNamespace(
        watch=lambda *_: None, unwatch=lambda _: None, batching=ReadBatching(), is_batching=False
    )
    return StreamReader(connection, parser, event_loop, DelayedAck())


def state(parser: AnswerParser) -> tuple[Any, ...]:
    """Return everything that is known about an answer when it has ended, or the connection has."""
    return parser.finished, parser.reusable, *astuple(parser.answer)


def parse_at_once(reads: Sequence[bytes]) -> tuple[Any, ...]:
    parser = AnswerParser(Answer(0), streamed=True, sampled=True)
    for number, data in enumerate(reads, 1):
        parser.feed_read(data, number)
        if parser.finished:
            break
    else:
        parser.end_connection("the server closed the connection", len(reads) + 1)
    return state(parser)


def parse_buffered(reads: Sequence[bytes], looks: set[int]) -> tuple[Any, ...]:
    """`looks`: the reads after which the buffer is flushed."""
    parser = AnswerParser(Answer(0), streamed=True, sampled=True)
    reader = reader_of(parser)
    for number, data in enumerate(reads, 1):
        reader.handle_read(data, number)
        if number in looks:
            reader.flush()
        if parser.finished:
            break
    else:
        reader.handle_read(b"", len(reads) + 1)
    assert reader.ended.ready()
    return state(parser)


def cut(data: bytes, rng: random.Random) -> list[bytes]:
    """Cut bytes into pieces: some anywhere, most where an HTTP chunk ends, as servers send them."""
    ends = {at + 4 for at in range(len(data)) if data.startswith(b"\n\n\r\n", at)}
    kept = {at for at in ends if rng.random() < rng.choice((0.5, 0.9, 1.0))}
    anywhere = set(rng.sample(range(1, len(data)), rng.choice((0, 0, 1, 5))))
    cuts = sorted({0, len(data)} | kept | anywhere)
    return [data[start:end] for start, end in pairwise(cuts)]


@pytest.mark.takes_turns
@pytest.mark.parametrize("name", STREAMS)
def test_buffered_reads_give_the_same_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(name)
    data = STREAMS[name]
    for _ in range(150):
        monkeypatch.setattr(stream_reader, "FIRST_READS", rng.choice((1, 2, 8, 64)))
        monkeypatch.setattr(answer_parser, "MAX_EVENTS", rng.choice((7, 20, 1000)))
        monkeypatch.setattr(answer_parser, "MAX_SAMPLE", rng.choice((700, 10**6)))
        reads = cut(data, rng)
        looks = set(rng.sample(range(len(reads)), min(len(reads), rng.choice((0, 1, 3)))))
        assert parse_at_once(reads) == parse_buffered(reads, looks)


@pytest.mark.parametrize("name", ["good", "crlf", "no-length", "malformed"])
def test_one_cut_makes_no_difference_wherever_it_is(name: str) -> None:
    data = STREAMS[name]
    for at in range(1, len(data), 3):
        reads = [data[:at], data[at:]]
        assert parse_at_once(reads) == parse_buffered(reads, {1})


def test_buffered_reads_are_parsed_by_flush_with_their_times() -> None:
    answer = Answer(0)
    reader = reader_of(AnswerParser(answer, streamed=True))
    whole = chunked(*LONG)
    ends = [at + 4 for at in range(len(whole)) if whole.startswith(b"\n\n\r\n", at)]
    reads = [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    for number, data in enumerate(reads[:6], 1):
        reader.handle_read(data, number)
    assert [1] == list(answer.stamps_ns)
    reader.flush()
    assert ([1, 2, 3, 4, 5, 6], [1] * 6) == (list(answer.stamps_ns), list(answer.counts))


def test_a_failed_answer_leaves_no_connection_to_reuse() -> None:
    parser = AnswerParser(Answer(0), streamed=True)
    reader = reader_of(parser)
    reader.handle_read(chunked(*LONG)[:-10], 1)
    reader.expire(1.0)
    assert ("timeout", False) == (parser.answer.failure, parser.reusable)
