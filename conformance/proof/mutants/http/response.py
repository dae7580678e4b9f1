"""Mutants of responses as HTTP messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.exchange import Failure
from conformance.proof.editing.answers import edit_answer
from conformance.proof.editing.responses import cut, response_of, with_body, with_header
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("http.connection-unbroken")
def connection_is_reset(exchange: Exchange) -> Exchange:
    """The connection breaks before the response is complete."""
    return cut(exchange)


@mutant("http.response-given")
def connection_is_closed_at_once(exchange: Exchange) -> Exchange:
    """The server closes the connection without a response."""
    failure = Failure("protocol", "the answer breaks HTTP/1.1: Server disconnected without sending a response.")
    return replace(exchange, response=None, failure=failure)


@mutant("http.message-legal")
def message_breaks_http(exchange: Exchange) -> Exchange:
    """The last chunk of the body is missing."""
    detail = "the answer breaks HTTP/1.1: peer closed connection without sending complete message body"
    return replace(cut(exchange), failure=Failure("protocol", detail))


@mutant("http.content-type-given")
def body_has_no_type(exchange: Exchange) -> Exchange:
    """A body has no content type."""
    return with_header(with_body(exchange, b"{}"), "content-type", None)


@mutant("http.charset-is-utf8")
def charset_is_latin1(exchange: Exchange) -> Exchange:
    """The charset is ISO-8859-1."""
    return with_header(exchange, "content-type", "application/json; charset=ISO-8859-1")


@mutant("http.single-fields-once")
def field_is_sent_twice(exchange: Exchange) -> Exchange:
    """The content type is sent twice."""
    response = response_of(exchange)
    twice = (("content-type", "application/json"), ("Content-Type", "text/event-stream"))
    return replace(exchange, response=replace(response, headers=(*response.headers, *twice)))


@mutant("http.date-is-now")
def date_is_of_another_year(exchange: Exchange) -> Exchange:
    """The Date header is that of the epoch."""
    return with_header(exchange, "date", "Thu, 01 Jan 1970 00:00:00 GMT")


@mutant("http.answers-not-shared")
def answer_may_be_cached(exchange: Exchange) -> Exchange:
    """Every cache may store the answer for an hour."""
    return with_header(exchange, "cache-control", "max-age=3600")


@mutant("http.connection-kept-open")
def connection_is_closed(exchange: Exchange) -> Exchange:
    """The server closes the connection after every answer."""
    return with_header(exchange, "connection", "close")


@mutant("http.answers-differ-in-id", steps="plain*")
def answers_share_an_id(exchange: Exchange) -> Exchange:
    """Every answer has the same id."""
    return edit_answer(exchange, lambda answer: answer.update(id="chatcmpl-1"))
