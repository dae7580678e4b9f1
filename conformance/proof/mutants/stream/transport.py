"""Mutants of the bytes and the arrival of a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.editing.responses import deliver_at_once, with_header
from conformance.proof.editing.streams import edit_frames
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

MARK = "\ue000"  # for private use: no model generates it


@mutant("stream.event-stream-type")
def stream_is_sent_as_text(exchange: Exchange) -> Exchange:
    """A stream is sent as text/plain."""
    return with_header(exchange, "content-type", "text/plain")


@mutant("stream.well-formed")
def chunk_lacks_its_field_name(exchange: Exchange) -> Exchange:
    """A line of JSON without `data:` is between two events."""
    return edit_frames(
        exchange, lambda found: [*found[:1], replace(found[0], raw=b'{"text": "Hello"}\n\n'), *found[1:]]
    )


@mutant("stream.utf8")
def byte_is_not_utf8(exchange: Exchange) -> Exchange:
    """A delta ends with the first byte of a character whose other bytes are missing."""
    marked = edit_text(exchange, lambda text: text + MARK)
    return edit_frames(marked, lambda found: [replace(frame, raw=_halved(frame.raw)) for frame in found])


def _halved(raw: bytes) -> bytes:
    return raw.replace(MARK.encode(), "你".encode()[:1])


@mutant("stream.last-event-ended")
def last_event_lacks_its_blank_line(exchange: Exchange) -> Exchange:
    """The last event lacks its blank line."""
    return edit_frames(exchange, lambda found: [*found[:-1], replace(found[-1], raw=found[-1].raw[:-1])])


@mutant("stream.arrives-bit-by-bit", scenario="long-stream")
def events_arrive_at_once(exchange: Exchange) -> Exchange:
    """All events of an answer that takes three seconds arrive at its end."""
    return deliver_at_once(exchange, 3.0)
