"""Mutants of how the server reads requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import accept, refuse, with_body, with_header
from conformance.proof.mutants.mutant import mutant
from openapi.stream import sse

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("http.expectation-met")
def expectation_ends_the_request(exchange: Exchange) -> Exchange:
    """`Expect: 100-continue` gets a 400."""
    return refuse(exchange)


@mutant("http.offer-of-http2-ignored")
def offer_of_http2_loses_the_body(exchange: Exchange) -> Exchange:
    """The body of a request that offers HTTP/2 is taken for HTTP/2, and the request for an empty one."""
    return refuse(exchange)


@mutant("http.chunked-body-read")
def chunked_body_is_not_read(exchange: Exchange) -> Exchange:
    """A body with chunked transfer coding is taken for an empty one."""
    return refuse(exchange)


@mutant("http.charset-taken")
def charset_is_refused(exchange: Exchange) -> Exchange:
    """`application/json; charset=utf-8` is refused."""
    return refuse(exchange, 415)


@mutant("http.names-in-any-case")
def capitals_are_not_known(exchange: Exchange) -> Exchange:
    """`CONTENT-TYPE` is not recognized."""
    return refuse(exchange, 415)


@mutant("http.stream-whatever-accept")
def accept_json_prevents_the_stream(exchange: Exchange) -> Exchange:
    """`Accept: application/json` turns a stream into a plain answer."""
    return accept(exchange)


@mutant("http.plain-whatever-accept")
def accept_events_makes_a_stream(exchange: Exchange) -> Exchange:
    """`Accept: text/event-stream` turns a plain answer into a stream."""
    return with_header(with_body(exchange, sse.encode(exchange.body)), "content-type", sse.MEDIA_TYPE)


@mutant("http.large-messages-taken")
def large_bodies_are_refused(exchange: Exchange) -> Exchange:
    """A body of more than a megabyte is refused with 413."""
    return refuse(exchange, 413)


@mutant("http.client-headers-ignored")
def headers_of_clients_are_refused(exchange: Exchange) -> Exchange:
    """A request with the header fields of a client is refused."""
    return refuse(exchange)


@mutant("http.equal-request-ids-served")
def id_is_in_use(exchange: Exchange) -> Exchange:
    """A request whose id another one has is refused."""
    return refuse(exchange, 409)


@mutant("http.connection-survives-refusals")
def unread_body_is_the_next_request(exchange: Exchange) -> Exchange:
    """A valid request after a refused one on the same connection gets a 400."""
    return refuse(exchange)
