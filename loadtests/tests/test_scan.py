"""The scan against a parser: whatever the bytes and however they are cut, it counts what is there."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from loadtests.client import sse_scan as scan
from loadtests.client.sse_scan import Scan, TooLarge

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


STREAM: list[Any] = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"role": "assistant", "reasoning_content": "hm"}),
    chunk({"content": 'quotes "content":"x" inside, \\ and \u2028 too'}),
    chunk({"content": "\n\n"}),
    chunk({"content": None, "tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"content":"y"}'}}]}),
    chunk({"content": "error and [DONE] and usage are words"}),
    chunk({}, "stop"),
    {"id": "c", "choices": [], "usage": USAGE},
]
CONTENT = 6


def encoded(end: str, space: str, compact: bool, ascii_only: bool) -> bytes:
    separators = (",", ":") if compact else (", ", ": ")
    texts = [json.dumps(each, separators=separators, ensure_ascii=ascii_only) for each in STREAM]
    lines = [f": keep-alive{end}{end}"] + [f"data:{space}{text}{end}{end}" for text in [*texts, "[DONE]"]]
    return "".join(lines).encode()


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize("space", ["", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_is_counted_does_not_depend_on_how_the_bytes_are_cut(
    end: str, space: str, compact: bool, ascii_only: bool
) -> None:
    data = encoded(end, space, compact, ascii_only)
    rng = random.Random(1)
    for pieces in (1, 2, 7, 60, len(data)):
        cuts = sorted(rng.sample(range(1, len(data)), pieces - 1))
        read = Scan()
        for at, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(data)], strict=True)):
            read.feed(data[start:stop], at)
        read.close(pieces)
        assert (CONTENT, 1, USAGE, "stop", None) == (
            read.content_events,
            read.done,
            read.usage,
            read.finish_reason,
            read.error,
        )
        assert sorted(read.stamps_ns) == read.stamps_ns
        if pieces == len(data):
            assert [1] * CONTENT == read.counts


def test_events_of_one_read_are_counted_together() -> None:
    read = Scan()
    read.feed(encoded("\n", " ", compact=True, ascii_only=True), 5)
    assert ([5], [CONTENT], 1) == (read.stamps_ns, read.counts, read.coalesced_reads)


def test_an_event_with_two_texts_is_one_and_lends_none_to_its_neighbour() -> None:
    both, none = chunk({"content": "a", "reasoning_content": "b"}), chunk({"role": "assistant"})
    read = Scan()
    for at, each in enumerate((both, both, none)):
        read.feed(f"data: {json.dumps(each)}\n\n".encode(), at)
    read.feed("".join(f"data: {json.dumps(each)}\n\n" for each in (both, none)).encode(), 3)
    assert [1, 1, 1] == read.counts


def test_pieces_are_taken_together_only_if_each_is_one_event() -> None:
    one = f"data: {json.dumps(chunk({'content': 'a'}))}\n\n".encode()
    read = Scan()
    read.feed(one, 0)
    for pieces in (
        [one + one, b"data: x"],
        [one[:-1], b"\n" + one],
        [one, one + b"\n"],
        [one, one.replace(b"\n", b"\r")],
    ):
        assert not read.feed_alike(pieces, [1, 2])
    assert read.feed_alike([one, one], [1, 2])
    assert ([0, 1, 2], [1, 1, 1], 3) == (read.stamps_ns, read.counts, read.events)


def test_an_event_without_its_blank_line_is_none() -> None:
    read = Scan()
    read.feed(b"data: [DONE]\n", 0)
    read.close(1)
    assert read.done == 0


def test_an_error_in_the_stream_is_found_and_a_null_error_is_none() -> None:
    read = Scan()
    read.feed(b'data: {"error": null, "choices": []}\n\n', 0)
    assert read.error is None
    read.feed(b'data: {"error": {"message": "gone"}}\n\n', 1)
    assert read.error == {"error": {"message": "gone"}}


def test_usage_null_on_every_chunk_is_not_the_usage() -> None:
    read = Scan()
    read.feed(b'data: {"choices": [], "usage": {"completion_tokens": 2}}\n\n', 0)
    read.feed(b'data: {"choices": [], "usage": null}\n\n', 1)
    assert read.usage is None or read.usage == {"completion_tokens": 2}


def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "LARGEST_EVENT", 1000)
    read = Scan()
    read.feed(b"data: " + b"x" * 900, 0)
    with pytest.raises(TooLarge):
        read.feed(b"x" * 100, 1)
