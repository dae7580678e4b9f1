"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check
from conformance.exchange import SWITCHED
from conformance.judge.applicability import scenario, shown, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

LENGTH_REQUIRED = 411

NOT_ACCEPTABLE = 406

EXPECTATION_FAILED = 417


def _answered_or(exchange: Exchange, status: int) -> Iterator[Finding]:
    """A finding unless the request was answered or refused with that status."""
    if exchange.status != status and (lack := unsuccessful(exchange)):
        yield Finding("/status", f"200 or {status}", lack)


@check("http.expectation-met", on=scenario("other-headers", "expect-continue"))
def expected_continue_is_met(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with `Expect: 100-continue`, as curl sends with long bodies, is answered (or refused with 417)."""
    yield from _answered_or(exchange, EXPECTATION_FAILED)


@check("http.offer-of-http2-ignored", on=scenario("other-headers", "offers-http2"))
def offer_of_http2_is_ignored(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request that offers HTTP/2 besides (`Upgrade: h2c`), as Java's own client does each time, is answered as well.

    Who takes the offer, with 101, says no more that HTTP/1.1 could read.
    """
    yield from _answered_or(exchange, SWITCHED)


@check("http.chunked-body-read", on=scenario("other-headers", "chunked"))
def chunked_body_is_read(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request whose body comes in chunks, without a Content-Length, is answered (or refused with 411)."""
    yield from _answered_or(exchange, LENGTH_REQUIRED)


@check("http.charset-taken", on=scenario("other-headers", "charset"))
def charset_of_the_request_is_taken(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request of the type `application/json; charset=utf-8` is answered like one without the charset."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)


@check("http.names-in-any-case", on=scenario("other-headers", "capitals"))
def names_of_fields_are_read_in_any_case(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Header fields are known whatever the case of their names and types."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)


@check("http.stream-whatever-accept", on=scenario("other-headers", "accept-json"))
def stream_follows_the_parameter(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`stream: true` gives a stream although the request accepts JSON: several vendors' own clients ask so."""
    if exchange.status != NOT_ACCEPTABLE and not (exchange.succeeded and exchange.is_stream):
        yield Finding("/body", "an event stream", f"{exchange.content_type or 'no content type'}, {shown(exchange)}")


@check("http.plain-whatever-accept", on=scenario("other-headers", "accept-events"))
def plain_answer_follows_the_parameter(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request without `stream` gives a plain answer although it accepts event streams."""
    if exchange.status != NOT_ACCEPTABLE and (not exchange.succeeded or exchange.is_stream):
        yield Finding("/body", "a plain answer", f"{exchange.content_type or 'no content type'}, {shown(exchange)}")


@check("http.connection-survives-refusals", on=scenario("one-connection", "good-*"))
def good_request_follows_bad_ones_on_a_connection(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """On one connection good requests are answered after refused ones.

    A server that leaves the body of a refused request unread takes it for the next request. One that closes the
    connection after a refusal is not blamed.
    """
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)
