"""Blind faults of streams: separators of lines within JSON, and events without data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import ServedRequest

EMPTY: Final = b"data: \n\n"
EVENTS: Final = 32


def _split_lines(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Copy an event line by line, as Unicode counts lines. Violates the stream: the data of an event is JSON."""
    yield "".join(f"{line}\n" for line in frame.decode().splitlines()).encode()


def _send_empty(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Keep the connection open with an event. Violates the stream: the data of an event is a chunk."""
    if request.event_index and request.event_index % EVENTS == 0:
        yield EMPTY
    yield frame


separators_break_streamed_events = hooked_fault(
    "separators-break-streamed-events",
    "In a streamed event, a character that separates lines in Unicode, such as U+2028, becomes the end of a line.",
    event=_split_lines,
)
long_streams_have_empty_events = hooked_fault(
    "long-streams-have-empty-events",
    "An event with empty data precedes every 32nd event of a stream.",
    event=_send_empty,
)
