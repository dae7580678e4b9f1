"""Checks of how the server reads the headers and the body of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotObserved, check
from conformance.exchange import SWITCHED
from conformance.judge.applicability import in_scenario, summarize, summarize_with_type, why_unanswered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

LENGTH_REQUIRED = 411
NOT_ACCEPTABLE = 406
TOO_LARGE = 413
EXPECTATION_FAILED = 417
SERVER_ERRORS = 500
OF_THE_MODEL = ("token", "context")
"""Words of refusals that are about the model, whose context may be small, and not about the size of the body."""


def _answered_or(exchange: Exchange, status: int) -> Iterator[Finding]:
    """Yield a finding unless the request was answered, or refused with that status."""
    if exchange.status != status and (reason := why_unanswered(exchange)):
        yield Finding("/status", f"200 or {status}", reason)


@check("http.expectation-met", on=in_scenario("other-headers", "expect-continue"))
def expected_continue_is_met(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with `Expect: 100-continue`, which curl sends with long bodies, is answered (or refused with 417)."""
    yield from _answered_or(exchange, EXPECTATION_FAILED)


@check("http.offer-of-http2-ignored", on=in_scenario("other-headers", "offers-http2"))
def offer_of_http2_is_ignored(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request that also offers HTTP/2 (`Upgrade: h2c`), as Java's own client always does, is answered.

    If the server accepts the offer with 101, nothing that HTTP/1.1 could read follows.
    """
    yield from _answered_or(exchange, SWITCHED)


@check("http.chunked-body-read", on=in_scenario("other-headers", "chunked"))
def chunked_body_is_read(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body with chunked transfer coding is read (or refused with 411)."""
    yield from _answered_or(exchange, LENGTH_REQUIRED)


@check("http.charset-taken", on=in_scenario("other-headers", "charset*"))
def charset_of_the_request_is_taken(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with the content type `application/json; charset=utf-8` is answered like one without the charset."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200", reason)


@check("http.names-in-any-case", on=in_scenario("other-headers", "capitals"))
def names_of_fields_are_read_in_any_case(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The names of request headers, and media types, are case-insensitive."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200", reason)


@check("http.stream-whatever-accept", on=in_scenario("other-headers", "accept-json"))
def stream_follows_the_parameter(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`stream: true` gives a stream although the request accepts JSON, as several vendors' own clients do."""
    if exchange.status != NOT_ACCEPTABLE and not (exchange.succeeded and exchange.is_stream):
        yield Finding("/body", "an event stream", summarize_with_type(exchange))


@check("http.plain-whatever-accept", on=in_scenario("other-headers", "accept-events"))
def plain_answer_follows_the_parameter(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request without `stream` gives a plain answer although it accepts event streams."""
    if exchange.status != NOT_ACCEPTABLE and (not exchange.succeeded or exchange.is_stream):
        yield Finding("/body", "a plain answer", summarize_with_type(exchange))


@check("http.client-headers-ignored", on=in_scenario("headers-*"))
def headers_of_clients_are_ignored(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request is answered as it asks, whatever header fields clients, browsers, gateways and tracing add to it.

    A recipient ignores the fields that it does not know (RFC 9110, section 5.1), and every answer here has a type that
    the request accepts.
    """
    if (reason := why_unanswered(exchange)) or exchange.is_stream != context.step.streams:
        kind = "an event stream" if context.step.streams else "a plain answer"
        yield Finding(
            "/body",
            f"{kind} in spite of {', '.join(context.step.headers)}"[:200],
            reason or summarize_with_type(exchange),
        )


@check("http.equal-request-ids-served", on=in_scenario("equal-request-ids"))
def requests_with_equal_ids_are_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Two requests with the same X-Request-ID at the same time are both answered: the field is for tracing, and a
    gateway sends the id of one request of its own with several requests to the server.
    """
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200", reason)


@check("http.large-messages-taken", on=in_scenario("message-of-a-megabyte"))
def a_message_of_a_megabyte_is_taken(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A message of a megabyte is answered, or refused with 4xx because the model cannot read so much: the document
    allows messages of 4 MB, so the size of the body alone may not be the reason.
    """
    if exchange.status is None:
        raise NotObserved(summarize(exchange))
    names_model = any(word in exchange.text.lower() for word in OF_THE_MODEL)
    if exchange.status >= SERVER_ERRORS or (exchange.status == TOO_LARGE and not names_model):
        yield Finding("/status", "an answer, or a refusal for the tokens of the prompt", summarize(exchange))


@check("http.connection-survives-refusals", on=in_scenario("one-connection*", "good-*"))
def good_request_follows_bad_ones_on_a_connection(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """On one connection valid requests are answered after streams and after refused ones.

    A server that does not read the body of a refused request takes it for the next request. A server may close the
    connection after a refusal.
    """
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200", reason)
