"""Variations of the stream format that every document allows."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import fault, variation
from reference_server.faults.hooks import DATA, DONE, FRAME_END

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest

MARK: Final = b"\xef\xbb\xbf"
CHUNKED_BY_TOKEN: Final = ("logprobs", "return_token_ids", "stream_interval")
"""Parameters with which each chunk belongs to certain tokens, so that its text cannot be split or joined."""


def _bytes(name: str, line: str, edit: Callable[[bytes], bytes], **more: Any) -> Fault:
    """Make a variation that writes every event differently."""
    return variation(name, line, event=lambda frame, _request: [edit(frame)], **more)


line_ends_crlf = _bytes("line-ends-crlf", "Lines end in CRLF.", lambda frame: frame.replace(b"\n", b"\r\n"))
line_ends_cr = _bytes("line-ends-cr", "Lines end in CR.", lambda frame: frame.replace(b"\n", b"\r"))
comments_before = _bytes(
    "comments-before-events",
    "Every event is preceded by a comment.",
    lambda frame: b": keep-alive\n\n" + frame,
    bugs=[6],
)
comments_inside = _bytes("comments-inside-events", "An event begins with a comment.", lambda frame: b":\n" + frame)
comments_bare = _bytes("comments-bare", "Empty comments are sent as keep-alives.", lambda frame: b":\n\n" + frame)
unspaced = _bytes(
    "no-space-after-colon", "No space follows `data:`.", lambda frame: frame.replace(DATA, b"data:", 1), bugs=[4]
)
named = _bytes("events-named-message", "Events are named `message`.", lambda frame: b"event: message\n" + frame)
numbered = _bytes("events-with-id", "Events have an id.", lambda frame: b"id: 7\n" + frame)
retrying = _bytes("events-with-retry", "Events have a retry field.", lambda frame: b"retry: 3000\n" + frame)
blank_lines = _bytes("two-blank-lines", "Events are separated by two blank lines.", lambda frame: frame + b"\n")
id_after = _bytes(
    "fields-after-data", "Unknown fields follow the data.", lambda frame: frame[:-1] + b"id: 1\nretry: 10\n\n"
)
empty_id = _bytes("empty-id", "Every event begins with an empty id.", lambda frame: b"id\n" + frame)
lines_split = _bytes(
    "json-over-lines",
    "The JSON of a chunk is spread over several data lines.",
    lambda frame: frame if frame == DONE else sse.encode(json.dumps(orjson.loads(frame[6:]), indent=1)),
)


@fault("line-ends-mixed", "event", benign=True)
def line_ends_mixed(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """The last event ends its lines in CRLF, all others in LF."""
    yield frame.replace(b"\n", b"\r\n") if frame == DONE else frame


@fault("byte-order-mark", "event", benign=True)
def byte_order_mark(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """A stream begins with a byte order mark."""
    yield MARK + frame if request.event_index == 0 else frame


@fault("comment-after-done", "event", benign=True)
def comment_after_done(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """A comment follows `[DONE]`."""
    yield frame
    if frame == DONE:
        yield b": bye\n\n"


@fault("byte-by-byte", "pieces", benign=True)
async def byte_by_byte(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """The first events of a stream are sent byte by byte."""
    request.state["sent"] = request.state.get("sent", 0) + 1
    if request.state["sent"] > 4:
        yield body
        return
    for at in range(len(body)):
        yield body[at : at + 1]


@fault("cut-anywhere", "pieces", benign=True)
async def cut_anywhere(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """Segments end within lines and within characters."""
    held = request.state.get("held", b"") + body
    while len(held) > 61:
        yield held[:61]
        held = held[61:]
    request.state["held"] = held
    if body.endswith(DONE):
        yield held


@fault("three-events-a-segment", "pieces", benign=True)
async def three_events_a_segment(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """Three events are sent in one segment."""
    held = request.state.get("held", b"") + body
    if held.count(FRAME_END) >= 3 or held.endswith(DONE):
        yield held
        held = b""
    request.state["held"] = held


@fault("slow-tokens", "pieces", benign=True)
async def slow_tokens(body: bytes, _request: ServedRequest) -> AsyncIterator[bytes]:
    """Tokens are sent slowly."""
    await asyncio.sleep(0.004)
    yield body


@fault("slow-first-token", "pieces", benign=True)
async def slow_first_token(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """The first token takes half a second."""
    if not request.state:
        request.state["waited"] = True
        await asyncio.sleep(0.5)
    yield body


def _is_chunked_by_token(request: ServedRequest) -> bool:
    return any(request.payload.get(name) for name in CHUNKED_BY_TOKEN)


def _one_character_each(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Split a delta of several characters into several chunks."""
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    choice = (chunk.get("choices") or [{}])[0]
    text = choice.get("delta", {}).get("content") or ""
    if len(text) < 2 or choice.get("finish_reason") or choice.get("logprobs") or _is_chunked_by_token(request):
        yield frame
        return
    for char in text:
        choice["delta"] = {**choice["delta"], "content": char}
        yield sse.encode(orjson.dumps(chunk))


def _joined(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Join two tokens in one chunk."""
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    choices = chunk.get("choices") or []
    held = request.state.pop("held", None)
    plain = len(choices) == 1 and choices[0]["finish_reason"] is None and not choices[0].get("logprobs")
    plain = plain and set(choices[0]["delta"]) <= {"role", "content"} and (request.payload.get("n") or 1) == 1
    plain = plain and not _is_chunked_by_token(request)
    if held is None and plain and request.event_index > 0:
        request.state["held"] = frame
    elif held is not None and plain:
        first = orjson.loads(held.removeprefix(DATA))["choices"][0]["delta"].get("content") or ""
        choices[0]["delta"]["content"] = first + (choices[0]["delta"].get("content") or "")
        yield sse.encode(orjson.dumps(chunk))
    else:
        yield from (part for part in (held, frame) if part is not None)


def _with_empty(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Add a chunk whose delta has an empty string between two others."""
    yield frame
    if request.event_index == 0 and b'"finish_reason":null' in frame and (request.payload.get("n") or 1) == 1:
        chunk = orjson.loads(frame.removeprefix(DATA))
        for choice in chunk["choices"]:
            choice["delta"] = {**choice["delta"], "content": ""}
            if choice.get("logprobs"):
                choice["logprobs"] = {**choice["logprobs"], "content": []}
        yield sse.encode(orjson.dumps(chunk))


one_character_chunks = variation(
    "one-character-chunks", "Every chunk contains one character.", event=_one_character_each
)
two_tokens_a_chunk = variation("two-tokens-a-chunk", "A chunk contains two tokens.", event=_joined)
empty_deltas = variation("empty-deltas", "Some deltas contain an empty string.", event=_with_empty)
