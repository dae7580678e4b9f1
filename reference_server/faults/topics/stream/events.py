"""Faults in the order and the end of stream events."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from reference_server.faults.decorators import choice_fault, fault, requires_check
from reference_server.faults.hooks import DONE, FRAME_END
from reference_server.faults.topics.finish import reason_instead

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from reference_server.faults.hooks import Json, ServedRequest


reason_empty = choice_fault(
    "reason-empty",
    reason_instead(None, ""),
    "The finish_reason is an empty string before the end.",
    plain=False,
    bugs=[32],
)
reason_absent = choice_fault(
    "reason-absent",
    lambda choice, _request: choice.pop("finish_reason") if choice["finish_reason"] is None else None,
    "The finish_reason is absent before the end.",
    plain=False,
    bugs=[33],
    applies_to=requires_check("stream.finish-reason-always-there", "stream.finish-reason-known"),
)


@fault(
    "finish-lost-with-logprobs",
    "chunk",
    bugs=[43],
    applies_to=requires_check("logprobs.in-every-chunk", "stream.usage-once"),
)
def finish_lost_with_logprobs(chunk: Json, request: ServedRequest) -> None:
    """A stream with log-probabilities has no finish_reason."""
    if request.payload.get("logprobs") or request.payload.get("top_logprobs"):
        for choice in chunk["choices"]:
            choice["finish_reason"] = None


@fault("finishes-twice", "event")
def finishes_twice(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """The last chunk of a choice is sent twice."""
    yield frame
    if b'"finish_reason":"' in frame:
        yield frame


@fault("goes-on-after-finish", "event")
def goes_on_after_finish(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """A choice has more text after its finish_reason."""
    if request.event_index == 1:
        request.state["message_of"] = frame
    yield frame
    if b'"finish_reason":"' in frame and "message_of" in request.state:
        yield request.state["message_of"]


@fault("omits-done", "event", bugs=[1])
def omits_done(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """The stream ends without `[DONE]`."""
    if frame != DONE:
        yield frame


@fault("sends-done-twice", "event", bugs=[3])
def sends_done_twice(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """`[DONE]` is sent twice."""
    yield frame
    if frame == DONE:
        yield frame


@fault("goes-on-after-done", "event", bugs=[3])
def goes_on_after_done(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The first chunk is sent again after `[DONE]`."""
    request.state.setdefault("first", frame)
    yield frame
    if frame == DONE:
        yield request.state["first"]


@fault("event-is-a-word", "event")
def event_is_a_word(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """A keep-alive event that is not JSON is sent between two chunks."""
    yield frame
    if request.event_index == 0:
        yield b"data: ping\n\n"


@fault("one-json-for-a-stream", "request")
def answers_plain(request: ServedRequest) -> None:
    """A request for a stream is answered with one plain JSON object."""
    request.payload.pop("stream", None)
    request.payload.pop("stream_options", None)


@fault("breaks-off", "pieces")
async def breaks_off(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """The connection is closed after the third event of a stream."""
    for frame in body.split(FRAME_END):
        if frame:
            request.state["sent"] = request.state.get("sent", 0) + 1
            if request.state["sent"] > 3:
                raise ConnectionResetError
            yield frame + FRAME_END


@fault("never-ends", "pieces", timeout_s=4.0)
async def never_ends(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """The connection stays open after the whole stream was sent."""
    yield body
    if body.endswith(DONE) and request.payload.get("max_tokens") == 24:
        await asyncio.sleep(3600)


@fault("error-in-mid-stream", "event", bugs=[127])
def error_in_mid_stream(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """An error event is sent between two chunks, and the stream continues to `[DONE]`."""
    yield frame
    if request.event_index == 1:
        yield b'data: {"error":{"message":"the model failed","type":"server_error"}}\n\n'
