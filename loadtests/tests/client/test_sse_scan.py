"""The scan counts the same events and content as a parser, however the bytes are cut."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from loadtests.client import sse_scan
from loadtests.client.held_bytes import TooLarge
from loadtests.client.sse_scan import EventScan

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
    texts = [json.dumps(event, separators=separators, ensure_ascii=ascii_only) for event in STREAM]
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
        scan = EventScan()
        for at, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(data)], strict=True)):
            scan.feed(data[start:stop], at)
        scan.close(pieces)
        assert (CONTENT, 1, USAGE, "stop", None) == (
            scan.content_events,
            scan.done,
            scan.usage,
            scan.finish_reason,
            scan.error,
        )
        assert sorted(scan.stamps_ns) == list(scan.stamps_ns)
        if pieces == len(data):
            assert [1] * CONTENT == list(scan.counts)


def test_events_of_one_read_are_counted_together() -> None:
    scan = EventScan()
    scan.feed(encoded("\n", " ", compact=True, ascii_only=True), 5)
    assert ([5], [CONTENT], 1) == (list(scan.stamps_ns), list(scan.counts), scan.coalesced_reads)


def test_an_event_with_two_texts_counts_once_and_does_not_change_the_next() -> None:
    both, none = chunk({"content": "a", "reasoning_content": "b"}), chunk({"role": "assistant"})
    scan = EventScan()
    for at, event in enumerate((both, both, none)):
        scan.feed(f"data: {json.dumps(event)}\n\n".encode(), at)
    scan.feed("".join(f"data: {json.dumps(event)}\n\n" for event in (both, none)).encode(), 3)
    assert [1, 1, 1] == list(scan.counts)


def test_pieces_are_scanned_together_only_if_each_is_one_event() -> None:
    one = f"data: {json.dumps(chunk({'content': 'a'}))}\n\n".encode()
    scan = EventScan()
    scan.feed(one, 0)
    for pieces in (
        [one + one, b"data: x"],
        [one[:-1], b"\n" + one],
        [one, one + b"\n"],
        [one, one.replace(b"\n", b"\r")],
    ):
        assert not scan.feed_single_events(pieces, [1, 2])
    assert scan.feed_single_events([one, one], [1, 2])
    assert ([0, 1, 2], [1, 1, 1], 3) == (list(scan.stamps_ns), list(scan.counts), scan.events)


def test_an_event_without_its_blank_line_is_dropped() -> None:
    scan = EventScan()
    scan.feed(b"data: [DONE]\n", 0)
    scan.close(1)
    assert scan.done == 0


def test_an_error_in_the_stream_is_found_and_a_null_error_is_ignored() -> None:
    scan = EventScan()
    scan.feed(b'data: {"error": null, "choices": []}\n\n', 0)
    assert scan.error is None
    scan.feed(b'data: {"error": {"message": "gone"}}\n\n', 1)
    assert scan.error == {"error": {"message": "gone"}}


def test_usage_null_on_every_chunk_is_not_the_usage() -> None:
    scan = EventScan()
    scan.feed(b'data: {"choices": [], "usage": {"completion_tokens": 2}}\n\n', 0)
    scan.feed(b'data: {"choices": [], "usage": null}\n\n', 1)
    assert scan.usage is None or scan.usage == {"completion_tokens": 2}


def test_an_event_without_end_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_scan, "MAX_EVENT", 1000)
    scan = EventScan()
    scan.feed(b"data: " + b"x" * 900, 0)
    with pytest.raises(TooLarge):
        scan.feed(b"x" * 100, 1)
