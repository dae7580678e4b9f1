"""Checks of the server-sent events format and of the timing of streams ("9.2 Server-sent events" of the HTML Standard).

Much that the standard allows breaks clients that read streams carelessly. Requirements for such details are MAY: they
are observed and do not fail a server.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.applicability import STREAM, STREAMED_ANSWER
from conformance.judge.streams import SLOW_S, byte_findings, response_of, timed_response
from openapi.schema.quantity import format_quantity
from openapi.stream.event_order import DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

CLOSE_S = 5.0  # how long a stream may stay open after [DONE]
SILENCE_S = 15.0  # proxies close connections without data for longer
EVENTS_PER_READ = 8  # events that a server may generate in one step


@check("sse.events-arrive-singly", on=STREAMED_ANSWER)
def events_are_not_lumped(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Events arrive a few at a time, not in batches that a buffer between server and client collects."""
    if timed_response(exchange).ended_at_s < SLOW_S:
        raise NotExercised("the answer was too fast to judge its timing")
    times = [event.at_s for event in exchange.events]
    most = max((times.count(time) for time in set(times)), default=0)
    if most > EVENTS_PER_READ:
        yield Finding("/events", f"at most {EVENTS_PER_READ} events in one read", f"{most} of {len(times)}")


@check("sse.keep-alive-in-silence", on=STREAMED_ANSWER)
def silence_is_broken_by_comments(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A stream does not pause for more than 15 s without data: comments keep proxies from closing it."""
    response = response_of(exchange)
    if response.ended_at_s <= SILENCE_S:
        raise NotExercised("the answer took less than 15 s")
    times = [0.0, *(segment.at_s for segment in response.segments), response.ended_at_s]
    longest = max(later - earlier for earlier, later in pairwise(times))
    if longest > SILENCE_S:
        yield Finding("/bytes", f"at most {SILENCE_S:g} s without data", f"{longest:.1f} s")


@check("sse.closed-after-done", on=STREAMED_ANSWER)
def stream_closes_after_its_end(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The response ends within 5 s after `[DONE]`, because some clients wait for the end of the body."""
    done = [event.at_s for event in exchange.events if event.data == DONE]
    if not done:
        raise NotExercised("the stream has no [DONE]")
    open_s = response_of(exchange).ended_at_s - done[0]
    if open_s > CLOSE_S:
        yield Finding("/bytes", f"the end within {CLOSE_S:g} s of {DONE}", f"{open_s:.1f} s later")


@check("sse.length-unstated", on=STREAMED_ANSWER)
def stream_states_no_length(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A stream has no Content-Length: a server that knows the length has generated the whole answer
    before sending it.
    """
    if (length := exchange.header("content-length")) is not None:
        yield Finding("/headers/content-length", "no header", length)


@check("sse.events-unnamed", on=STREAM)
def events_have_no_other_name(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Events have no name, unless they report an error.

    Browsers deliver an event with another name than "message" only to listeners for that name.
    """
    for at, event in enumerate(exchange.events):
        if event.event not in ("message", "error"):
            yield Finding(f"/events/{at}", "no event field, or message", event.event)
            return


@check("sse.named-events-have-data", on=STREAM)
def named_event_has_data(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An event with a name has data; browsers do not dispatch an event without data."""
    yield from byte_findings(exchange, "event-without-data")


@check("sse.control-fields-legal", on=STREAM)
def control_fields_are_legal(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`retry` consists of digits and `id` has no NUL; otherwise clients ignore them."""
    yield from byte_findings(exchange, "bad-retry", "nul-in-id")


@check("sse.line-ends-uniform", on=STREAM)
def lines_end_alike(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """All lines end in the same way; otherwise careless clients join or split events."""
    yield from byte_findings(exchange, "mixed-line-ends")


@check("sse.line-feeds-used", on=STREAM)
def lines_end_in_line_feeds(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Lines end in LF, which every client supports."""
    if other := exchange.decoded.line_ends - {"LF"}:
        yield Finding("/bytes", "LF", " and ".join(sorted(other)))


@check("sse.no-byte-order-mark", on=STREAM)
def stream_starts_without_a_mark(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The stream does not begin with a byte order mark, which makes careless clients lose the first event."""
    yield from byte_findings(exchange, "bom")


@check("sse.no-comments", on=STREAM)
def stream_holds_no_comments(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The stream has no comments, which some clients cannot parse."""
    if exchange.decoded.comments:
        yield Finding("/bytes", "no comments", format_quantity(exchange.decoded.comments, "line"))


@check("sse.space-after-colon", on=STREAM)
def data_follows_a_space(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`data:` is followed by a space, as many clients expect."""
    if exchange.decoded.unspaced:
        yield Finding("/bytes", "`data: `", f"{format_quantity(exchange.decoded.unspaced, 'line')} without the space")


@check("sse.one-line-per-event", on=STREAM)
def event_is_one_line(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The data of an event is on one line, because many clients read line by line."""
    for at, event in enumerate(exchange.events):
        if "\n" in event.data:
            yield Finding(f"/events/{at}", "one line of data", format_quantity(event.data.count(chr(10)) + 1, "line"))
            return


@check("sse.caches-told", on=STREAMED_ANSWER)
def caches_are_told_to_keep_away(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A stream has `Cache-Control: no-cache` or `no-store`."""
    found = exchange.header("cache-control")
    if not {"no-cache", "no-store"} & {word.strip().lower() for word in (found or "").split(",")}:
        yield Finding("/headers/cache-control", "no-cache", found or "no header")


@check("sse.proxies-told", on=STREAMED_ANSWER)
def proxies_are_told_not_to_buffer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A stream has `X-Accel-Buffering: no`, so that nginx does not buffer it."""
    found = exchange.header("x-accel-buffering")
    if (found or "").strip().lower() != "no":
        yield Finding("/headers/x-accel-buffering", "no", found or "no header")
