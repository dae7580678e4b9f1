"""Faults in the encoding and the media type of a stream."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import fault, hooked_fault
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from reference_server.faults.hooks import ResponseHead, ServedRequest


@fault("streams-as-text", "head", bugs=[10])
def streams_as_text(head: ResponseHead, _request: ServedRequest) -> None:
    """A stream is sent as text/plain."""
    if head.streams:
        head.headers["content-type"] = "text/plain; charset=utf-8"


@fault("streams-without-type", "head", bugs=[10])
def streams_without_type(head: ResponseHead, _request: ServedRequest) -> None:
    """A stream is sent without a Content-Type."""
    if head.streams:
        del head.headers["content-type"]


@fault("bare-json-lines", "event")
def bare_json_lines(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The second chunk is a line of JSON without `data:`."""
    yield frame.removeprefix(DATA) if request.event_index == 1 else frame


@fault("splits-events", "event")
def splits_events(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The JSON of the second chunk contains a raw line break."""
    yield frame.replace(b',"', b',\n"', 1) if request.event_index == 1 else frame


@fault("invalid-utf8", "event", bugs=[13])
def invalid_utf8(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The text of the second chunk ends with the first byte of a character."""
    yield frame.replace(b'"content":"', b'"content":"\xe4', 1) if request.event_index == 1 else frame


@fault("half-surrogate", "event", bugs=[13])
def half_surrogate(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The text of the second chunk contains an escaped lone surrogate."""
    yield frame.replace(b'"content":"', b'"content":"\\ud83d', 1) if request.event_index == 1 else frame


@fault("last-event-open", "event")
def last_event_open(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """The blank line after `[DONE]` is missing."""
    yield frame.removesuffix(b"\n") if frame == DONE else frame


LARGE: Final = 2_000
EVENT_S: Final = 0.01
"""How long an event takes, so that a stream that is held back can be told from one that is fast."""


async def _held(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    await asyncio.sleep(EVENT_S)
    if len(request.body) < LARGE:
        yield body
        return
    request.state["held"] = [*request.state.get("held", ()), body]
    if body.endswith(DONE):
        yield b"".join(request.state["held"])


large_requests_hold_streams = hooked_fault(
    "streams-held-for-large-requests",
    "The stream for a request of more than 2,000 bytes is sent when it is complete.",
    pieces=_held,
    timeout_s=20,
    bugs=[170],
)
