"""Faults in the encoding and the media type of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import fault
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

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
