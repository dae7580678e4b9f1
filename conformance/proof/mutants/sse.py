"""The bytes of streams, broken."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.exchange import Segment
from conformance.proof.mutants.editing import edit_frames, edit_text, response_of, with_header
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

MARK = "\ue000"  # of private use: no model says it


def _before_first(exchange: Exchange, raw: bytes) -> Exchange:
    """The stream with some bytes before its first event."""
    return edit_frames(exchange, lambda found: [replace(found[0], raw=raw + found[0].raw), *found[1:]])


def _at_once(exchange: Exchange, at_s: float) -> Exchange:
    """The stream in one read at a time, which ends it."""
    response = replace(response_of(exchange), segments=(Segment(at_s, exchange.body),), ended_at_s=at_s)
    return replace(exchange, response=response)


@mutant("stream.event-stream-type")
def stream_is_sent_as_text(exchange: Exchange) -> Exchange:
    """A stream is sent as text/plain."""
    return with_header(exchange, "content-type", "text/plain")


@mutant("stream.well-formed")
def chunk_lacks_its_field_name(exchange: Exchange) -> Exchange:
    """A bare line of JSON, without `data:`, stands between two events."""
    return edit_frames(
        exchange, lambda found: [*found[:1], replace(found[0], raw=b'{"text": "Hello"}\n\n'), *found[1:]]
    )


@mutant("stream.utf8")
def byte_is_not_utf8(exchange: Exchange) -> Exchange:
    """A delta ends with the first byte of a character whose other bytes never come."""
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
    return _at_once(exchange, 3.0)


@mutant("sse.events-arrive-singly", scenario="long-stream")
def events_arrive_in_a_lump(exchange: Exchange) -> Exchange:
    """All events of an answer that takes two seconds arrive together."""
    return _at_once(exchange, 2.0)


@mutant("sse.keep-alive-in-silence")
def stream_is_silent_for_long(exchange: Exchange) -> Exchange:
    """Nothing arrives for forty seconds."""
    return _at_once(exchange, 40.0)


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
    """The first event is called "completion"."""
    return _before_first(exchange, b"event: completion\n")


@mutant("sse.named-events-have-data")
def named_event_is_empty(exchange: Exchange) -> Exchange:
    """An event with a name and no data comes first."""
    return _before_first(exchange, b"event: message\n\n")


@mutant("sse.control-fields-legal")
def retry_is_a_duration(exchange: Exchange) -> Exchange:
    """The time to reconnect is written with its unit."""
    return _before_first(exchange, b"retry: 3s\n\n")


@mutant("sse.line-ends-uniform")
def last_line_ends_otherwise(exchange: Exchange) -> Exchange:
    """The last event ends in CRLF, all others in LF."""
    return edit_frames(
        exchange, lambda found: [*found[:-1], replace(found[-1], raw=found[-1].raw.replace(b"\n", b"\r\n"))]
    )


@mutant("sse.line-feeds-used")
def lines_end_in_carriage_returns(exchange: Exchange) -> Exchange:
    """Every line ends in CR."""
    return edit_frames(exchange, lambda found: [replace(each, raw=each.raw.replace(b"\n", b"\r")) for each in found])


@mutant("sse.no-byte-order-mark")
def stream_starts_with_a_mark(exchange: Exchange) -> Exchange:
    """The stream starts with a byte order mark."""
    return _before_first(exchange, b"\xef\xbb\xbf")


@mutant("sse.no-comments")
def stream_starts_with_a_comment(exchange: Exchange) -> Exchange:
    """The stream starts with a bare colon."""
    return _before_first(exchange, b":\n\n")


@mutant("sse.space-after-colon")
def space_is_left_out(exchange: Exchange) -> Exchange:
    """`data:` is followed by no space."""
    return edit_frames(
        exchange, lambda found: [replace(each, raw=each.raw.replace(b"data: ", b"data:", 1)) for each in found]
    )


@mutant("sse.one-line-per-event")
def event_is_two_lines(exchange: Exchange) -> Exchange:
    """The JSON of the first event goes over two lines."""
    return edit_frames(exchange, lambda found: [found[0].saying(b"{\n" + _data(found[0].raw)[1:]), *found[1:]])


def _data(raw: bytes) -> bytes:
    return raw.partition(b"data: ")[2].rstrip()


@mutant("sse.caches-told")
def stream_may_be_cached(exchange: Exchange) -> Exchange:
    """A stream may be kept for a minute."""
    return with_header(exchange, "cache-control", "max-age=60")


@mutant("sse.proxies-told")
def proxies_may_buffer(exchange: Exchange) -> Exchange:
    """A stream says nothing to nginx."""
    return with_header(exchange, "x-accel-buffering", None)
