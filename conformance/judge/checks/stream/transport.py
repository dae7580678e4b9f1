"""Checks of the bytes of a stream: media type, encoding, fields and arrival."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.applicability import STREAM, STREAMED_ANSWER
from conformance.judge.streams import SLOW_S, byte_findings, timed_response
from openapi.schema.quantity import format_quantity
from openapi.stream.sse import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

LOST = frozenset("{[")
"""Characters of a line that holds a chunk or [DONE], not a field that is to be ignored."""
MIN_EVENTS = 64  # fewer events may be read at once by chance
FASTEST_S = 0.0001  # time per event; 10,000 events per second is several times the rate of any server


@check("stream.event-stream-type", on=STREAM)
def content_type_is_event_stream(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A stream is sent as text/event-stream; otherwise browsers reject it."""
    if exchange.content_type != MEDIA_TYPE:
        yield Finding("/headers/content-type", MEDIA_TYPE, exchange.header("content-type") or "no header")


@check("stream.well-formed", on=STREAM, invalidates=("assembled",))
def lines_are_fields_of_the_standard(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk is in a `data` field of the event-stream format.

    Decoders drop fields with other names, as the standard demands, and with them a chunk without its `data:`.
    """
    for finding in byte_findings(exchange, "unknown-field", "no-colon-line"):
        if not LOST.isdisjoint(finding.got):
            yield finding


@check("stream.utf8", on=STREAM, invalidates=("assembled",))
def stream_is_utf8(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The stream is UTF-8 throughout and has no unpaired surrogates."""
    yield from byte_findings(exchange, "invalid-utf8")
    for at, oddity in exchange.walk.oddities:
        if "surrogate" in oddity:
            yield Finding(f"/events/{at}", "whole characters", oddity)


@check("stream.last-event-ended", on=STREAM, invalidates=("assembled",))
def last_event_has_its_blank_line(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The last event is followed by a blank line; otherwise decoders drop the event."""
    yield from byte_findings(exchange, "unterminated-event")


@check("stream.arrives-bit-by-bit", on=STREAMED_ANSWER)
def events_arrive_while_they_are_made(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The text of a slow answer does not arrive all at once: nothing buffers the stream until its end.

    Judged if an answer took at least a second and had at least 64 events with text. The earliest quarter of them is
    ignored; reported if the others arrived faster than any server generates events. The time to the first event does
    not matter, because a server may be busy. Not judged if our own process stalled: the arrival times are then unknown.
    """
    response = timed_response(exchange)
    times = sorted(exchange.events[at].at_s for choice in exchange.choices.values() for at in choice.output_at)
    if response.ended_at_s < SLOW_S or len(times) < MIN_EVENTS:
        raise NotExercised("the answer was too fast or too short to judge its timing")
    late = times[len(times) // 4 :]
    if late[-1] - late[0] < FASTEST_S * len(late):
        got = (
            f"{format_quantity(len(late), 'event')} within {(late[-1] - late[0]) * 1000:.1f} ms, after {late[0]:.2f} s"
        )
        yield Finding("/events", "events that arrive while they are generated", got)
