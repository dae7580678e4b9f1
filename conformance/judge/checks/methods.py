"""HTTP around a request: methods, addresses, header fields and connections that any client may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotObserved, check
from conformance.exchange import SWITCHED
from conformance.judge.applicability import scenario, shown, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

NOT_IMPLEMENTED = 501
LENGTH_REQUIRED = 411
NOT_ACCEPTABLE = 406
EXPECTATION_FAILED = 417
KEEPS_THE_METHOD = (307, 308)


def _status(exchange: Exchange) -> int:
    if exchange.status is None:
        raise NotObserved(shown(exchange))
    return exchange.status


def _answered_or(exchange: Exchange, status: int) -> Iterator[Finding]:
    """A finding unless the request was answered or refused with that status."""
    if exchange.status != status and (lack := unsuccessful(exchange)):
        yield Finding("/status", f"200 or {status}", lack)


@check("http.other-methods-refused", on=scenario("other-methods"))
def other_methods_are_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """PUT, DELETE and PATCH on the chat endpoint are refused: no success, no redirect, no 5xx but 501."""
    status = _status(exchange)
    if not 400 <= status < 500 and status != NOT_IMPLEMENTED:
        yield Finding("/status", "405", shown(exchange))


@check("http.options-survived", on=scenario("options"))
def options_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """OPTIONS on the chat endpoint is answered or refused, never with a 5xx but 501."""
    if exchange.status is None or (exchange.status >= 500 and exchange.status != NOT_IMPLEMENTED):
        yield Finding("/status", "2xx or 4xx", shown(exchange))


@check("http.head-survived", on=scenario("head-models"))
def head_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """HEAD on the list of models is answered without a body or refused, never with a 5xx but 501."""
    if exchange.status is None or (exchange.status >= 500 and exchange.status != NOT_IMPLEMENTED):
        yield Finding("/status", "2xx or 4xx", shown(exchange))
    elif exchange.body:
        yield Finding("/body", "no body", f"{len(exchange.body)} bytes")


@check("http.slash-keeps-method", on=scenario("other-addresses", "slash"))
def slash_at_the_end_does_not_lose_the_body(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """POST with a slash behind the path is answered, refused, or sent elsewhere as a POST (307 or 308).

    Other redirects make clients ask again with GET and without a body.
    """
    status = _status(exchange)
    if 300 <= status < 400 and status not in KEEPS_THE_METHOD:
        yield Finding("/status", "307 or 308", shown(exchange))


@check("http.query-ignored", on=scenario("other-addresses", "query"))
def unknown_query_is_ignored(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A query that no document names is ignored."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)


@check("http.below-endpoint-is-404", on=scenario("other-addresses", "below"))
def path_below_the_endpoint_is_not_found(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A path below the endpoint that no document names is not answered like the endpoint."""
    if 200 <= _status(exchange) < 300 or _status(exchange) >= 500:
        yield Finding("/status", "404", shown(exchange))


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
