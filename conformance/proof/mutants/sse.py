"""Mutants of the server-sent events format and of the timing of streams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.proof.editing.responses import deliver_at_once, response_of, with_header
from conformance.proof.editing.streams import edit_frames
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _before_first(exchange: Exchange, raw: bytes) -> Exchange:
    """Insert bytes in front of the first event."""
    return edit_frames(exchange, lambda found: [replace(found[0], raw=raw + found[0].raw), *found[1:]])


@mutant("sse.events-arrive-singly", scenario="long-stream")
def events_arrive_in_a_lump(exchange: Exchange) -> Exchange:
    """All events of an answer that takes two seconds arrive together."""
    return deliver_at_once(exchange, 2.0)


@mutant("sse.keep-alive-in-silence")
def stream_is_silent_for_long(exchange: Exchange) -> Exchange:
    """No data arrives for forty seconds."""
    return deliver_at_once(exchange, 40.0)


@mutant("sse.closed-after-done")
def stream_stays_open(exchange: Exchange) -> Exchange:
    """The connection stays open for a minute after `[DONE]`."""
    response = response_of(exchange)
    return replace(exchange, response=replace(response, ended_at_s=response.ended_at_s + 60))


@mutant("sse.length-unstated")
def stream_states_its_length(exchange: Exchange) -> Exchange:
    """A stream has a Content-Length."""
    return with_header(exchange, "content-length", str(len(exchange.body)))


@mutant("sse.events-unnamed")
def events_are_named(exchange: Exchange) -> Exchange:
    """The first event has the name "completion"."""
    return _before_first(exchange, b"event: completion\n")


@mutant("sse.named-events-have-data")
def named_event_is_empty(exchange: Exchange) -> Exchange:
    """The first event has a name and no data."""
    return _before_first(exchange, b"event: message\n\n")


@mutant("sse.control-fields-legal")
def retry_is_a_duration(exchange: Exchange) -> Exchange:
    """`retry` has a unit."""
    return _before_first(exchange, b"retry: 3s\n\n")


@mutant("sse.line-ends-uniform")
def last_line_ends_otherwise(exchange: Exchange) -> Exchange:
    """The last event ends with CRLF, all others with LF."""
    return edit_frames(
        exchange, lambda found: [*found[:-1], replace(found[-1], raw=found[-1].raw.replace(b"\n", b"\r\n"))]
    )


@mutant("sse.line-feeds-used")
def lines_end_in_carriage_returns(exchange: Exchange) -> Exchange:
    """Every line ends with CR."""
    return edit_frames(
        exchange, lambda events: [replace(frame, raw=frame.raw.replace(b"\n", b"\r")) for frame in events]
    )


@mutant("sse.no-byte-order-mark")
def stream_starts_with_a_mark(exchange: Exchange) -> Exchange:
    """The stream begins with a byte order mark."""
    return _before_first(exchange, b"\xef\xbb\xbf")


@mutant("sse.no-comments")
def stream_starts_with_a_comment(exchange: Exchange) -> Exchange:
    """The stream begins with a bare colon."""
    return _before_first(exchange, b":\n\n")


@mutant("sse.space-after-colon")
def space_is_left_out(exchange: Exchange) -> Exchange:
    """`data:` is not followed by a space."""
    return edit_frames(
        exchange, lambda events: [replace(frame, raw=frame.raw.replace(b"data: ", b"data:", 1)) for frame in events]
    )


@mutant("sse.one-line-per-event")
def event_is_two_lines(exchange: Exchange) -> Exchange:
    """The JSON of the first event is on two lines."""
    return edit_frames(exchange, lambda found: [found[0].with_data(b"{\n" + _data(found[0].raw)[1:]), *found[1:]])


def _data(raw: bytes) -> bytes:
    return raw.partition(b"data: ")[2].rstrip()


@mutant("sse.caches-told")
def stream_may_be_cached(exchange: Exchange) -> Exchange:
    """Caches may store a stream for a minute."""
    return with_header(exchange, "cache-control", "max-age=60")


@mutant("sse.proxies-told")
def proxies_may_buffer(exchange: Exchange) -> Exchange:
    """A stream has no X-Accel-Buffering header."""
    return with_header(exchange, "x-accel-buffering", None)
