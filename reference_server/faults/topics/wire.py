"""Bytes of a stream that are no event stream, or not the right one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import fault
from reference_server.faults.hooks import DATA, DONE, FRAME_END

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from reference_server.faults.hooks import Head, Json, Told

SLOW_S: Final = 1.5
LONG: Final = 200  # tokens asked for, so that holding back shows


@fault("omits-done", "event", bugs=[1])
def omits_done(frame: bytes, _told: Told) -> Iterator[bytes]:
    """The stream ends without `[DONE]`."""
    if frame != DONE:
        yield frame


@fault("sends-done-twice", "event", bugs=[3])
def sends_done_twice(frame: bytes, _told: Told) -> Iterator[bytes]:
    """`[DONE]` is sent twice."""
    yield frame
    if frame == DONE:
        yield frame


@fault("goes-on-after-done", "event", bugs=[3])
def goes_on_after_done(frame: bytes, told: Told) -> Iterator[bytes]:
    """The first chunk is sent again after `[DONE]`."""
    told.memory.setdefault("first", frame)
    yield frame
    if frame == DONE:
        yield told.memory["first"]


@fault("streams-as-text", "head", bugs=[10])
def streams_as_text(head: Head, _told: Told) -> None:
    """A stream is sent as text/plain."""
    if head.streams:
        head.headers["content-type"] = "text/plain; charset=utf-8"


@fault("streams-without-type", "head", bugs=[10])
def streams_without_type(head: Head, _told: Told) -> None:
    """A stream is sent without a Content-Type."""
    if head.streams:
        del head.headers["content-type"]


@fault("bare-json-lines", "event")
def bare_json_lines(frame: bytes, told: Told) -> Iterator[bytes]:
    """The second chunk comes as a bare line of JSON, without its field name."""
    yield frame.removeprefix(DATA) if told.at == 1 else frame


@fault("splits-events", "event")
def splits_events(frame: bytes, told: Told) -> Iterator[bytes]:
    """A raw line break stands within the JSON of the second chunk."""
    yield frame.replace(b',"', b',\n"', 1) if told.at == 1 else frame


@fault("invalid-utf8", "event", bugs=[13])
def invalid_utf8(frame: bytes, told: Told) -> Iterator[bytes]:
    """The text of the second chunk ends with the first byte of a character."""
    yield frame.replace(b'"content":"', b'"content":"\xe4', 1) if told.at == 1 else frame


@fault("half-surrogate", "event", bugs=[13])
def half_surrogate(frame: bytes, told: Told) -> Iterator[bytes]:
    """The text of the second chunk holds one half of a surrogate pair, escaped."""
    yield frame.replace(b'"content":"', b'"content":"\\ud83d', 1) if told.at == 1 else frame


@fault("last-event-open", "event")
def last_event_open(frame: bytes, _told: Told) -> Iterator[bytes]:
    """The blank line after `[DONE]` is missing."""
    yield frame.removesuffix(b"\n") if frame == DONE else frame


@fault("event-is-a-word", "event")
def event_is_a_word(frame: bytes, told: Told) -> Iterator[bytes]:
    """A bare word is sent as an event between two chunks, to keep the connection alive."""
    yield frame
    if told.at == 0:
        yield b"data: ping\n\n"


@fault("arrives-at-once", "pieces", bugs=[9], patience_s=20.0)
async def arrives_at_once(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """A stream is collected, and sent as a whole at its end."""
    told.memory["held"] = told.memory.get("held", b"") + body
    if body.endswith(DONE):
        if (told.sent.get("max_tokens") or 0) >= LONG:
            await asyncio.sleep(SLOW_S)  # so that it shows however fast the model is
        yield told.memory["held"]


@fault("one-json-for-a-stream", "request")
def answers_plain(told: Told) -> None:
    """A request for a stream is answered with one plain JSON object."""
    told.sent.pop("stream", None)
    told.sent.pop("stream_options", None)


@fault("breaks-off", "pieces")
async def breaks_off(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """The connection ends after the third event of a stream, without a word."""
    for frame in body.split(FRAME_END):
        if frame:
            told.memory["sent"] = told.memory.get("sent", 0) + 1
            if told.memory["sent"] > 3:
                raise ConnectionResetError
            yield frame + FRAME_END


@fault("never-ends", "pieces", patience_s=4.0)
async def never_ends(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """A stream of which everything was sent is not ended."""
    yield body
    if body.endswith(DONE) and told.sent.get("max_tokens") == 24:
        await asyncio.sleep(3600)


@fault("error-in-mid-stream", "event", bugs=[127])
def error_in_mid_stream(frame: bytes, told: Told) -> Iterator[bytes]:
    """An error comes between two chunks, and the stream goes on to its `[DONE]`."""
    yield frame
    if told.at == 1:
        yield b'data: {"error":{"message":"the model failed","type":"server_error"}}\n\n'


@fault("schema-of-chunks", "chunk", bugs=[28])
def created_is_a_text(chunk: Json, _told: Told) -> None:
    """`created` of the chunks is a text."""
    chunk["created"] = str(chunk["created"])


@fault("streams-unasked", "request")
def streams_unasked(told: Told) -> None:
    """Every answer is a stream."""
    told.sent["stream"] = True


@fault("events-have-names", "event")
def events_have_names(frame: bytes, _told: Told) -> Iterator[bytes]:
    """Events are named completion, so that browsers hand them to nobody."""
    yield b"event: completion\n" + frame


@fault("names-without-data", "event")
def names_without_data(frame: bytes, _told: Told) -> Iterator[bytes]:
    """Events with a name and no data keep the connection alive."""
    yield b"event: ping\n\n" + frame


@fault("retry-with-unit", "event")
def retry_has_a_unit(frame: bytes, _told: Told) -> Iterator[bytes]:
    """The time to reconnect is written with its unit."""
    yield b"retry: 3s\n" + frame
