"""Checks of every response as an HTTP message: its framing, its headers and its connection."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from conformance.check import Applicability, Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.applicability import ANYTHING, CHAT, RESPONSE, why_unanswered
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange, Failure
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

DATE_SKEW = timedelta(hours=1)  # the most by which the server's clock may differ from ours
SINGLE = (  # headers with one value; if they are sent twice, readers disagree on which one counts
    *("age", "content-length", "content-type", "date", "etag", "expires", "last-modified", "location", "retry-after"),
    *("server", "access-control-allow-origin"),
)

CLOSED = ("without sending a response", "disconnected")
UNANSWERED = ("connect", "tls", "timeout", "reset", "protocol")
"""Failures after which a request without a response counts as unanswered."""
UTF8 = ("utf-8", "utf8", "us-ascii")


def _is_broken(failure: Failure) -> bool:
    """Tell whether the server closed the connection too early; httpx reports some of these cases as protocol errors."""
    return failure.kind in ("connect", "reset") or any(word in failure.detail for word in CLOSED)


@check("http.connection-unbroken", on=ANYTHING)
def connection_is_not_broken(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every request gets a complete response: the server does not break the connection, whatever the request is."""
    if exchange.failure is not None and _is_broken(exchange.failure):
        yield Finding("/connection", "a complete response", exchange.failure.detail)


def _is_legal(scenario: Scenario, step: Step, _contract: Contract) -> bool:
    """Tell whether the documents allow a request, so that it must be answered in some way."""
    subject = scenario.subject_of(step)
    return (
        step.targets_chat
        and step.stop_after_events is None
        and (step.expect == "answer" or scenario.id == "other-headers")
        and (subject is None or subject.expect == "accept")
    )


@check("http.response-given", on=Applicability(_is_legal), invalidates=("response",))
def valid_request_gets_a_response(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A valid request gets a response: the server does not close the connection without one, nor stay silent."""
    failure = exchange.failure
    if exchange.response is None and failure is None:
        raise NotObserved("neither a response nor a failure is recorded")
    if exchange.response is None and failure is not None and failure.kind in UNANSWERED:
        yield Finding("/connection", "a response", failure.detail)


@check("http.message-legal", on=ANYTHING)
def message_is_legal(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every response is a valid HTTP message: status line, headers, lengths and chunks, with the last chunk.

    A body that ends before its length, or without its last chunk, is incomplete (RFC 9112, section 8): a client cannot
    tell it from one that was cut off.
    """
    failure = exchange.failure
    if failure is not None and failure.kind == "protocol" and not _is_broken(failure):
        yield Finding("/message", "a response valid by RFC 9112", failure.detail)


@check("http.content-type-given", on=RESPONSE)
def body_says_what_it_is(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A response with a body states its content type."""
    if not exchange.body:
        raise NotExercised("the body is empty")
    if not exchange.content_type:
        yield Finding("/headers/content-type", "a media type", exchange.header("content-type") or "no header")


@check("http.charset-is-utf8", on=RESPONSE)
def charset_is_utf8(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The charset of a content type, if present, is UTF-8: JSON and event streams have no other."""
    for parameter in (exchange.header("content-type") or "").split(";")[1:]:
        name, _equals, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if name.strip().lower() == "charset" and charset not in UTF8:
            yield Finding("/headers/content-type", "charset=utf-8", charset)


@check("http.single-fields-once", on=RESPONSE)
def single_field_is_sent_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A header that has one value is sent once."""
    headers = exchange.response.headers if exchange.response is not None else ()
    names = [name.lower() for name, _value in headers]
    for name in SINGLE:
        if names.count(name) > 1:
            yield Finding(
                f"/headers/{name}", "once", f"{format_quantity(names.count(name), 'time')}: {exchange.header(name)}"
            )


@check("http.date-is-now", on=RESPONSE)
def date_is_the_time_of_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A response has a Date header with the time at which it was generated, within an hour."""
    found = exchange.header("date")
    sent = datetime.fromisoformat(exchange.started_at)
    try:
        made = parsedate_to_datetime(found or "")
    except ValueError:
        yield Finding("/headers/date", "a date", found or "no header")
        return
    if abs((made if made.tzinfo else made.replace(tzinfo=UTC)) - sent) > DATE_SKEW:
        yield Finding("/headers/date", f"{sent:%a, %d %b %Y %H:%M} UTC, within an hour", found or "")


@check("http.answers-not-shared", on=CHAT)
def answer_is_kept_by_no_cache(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No answer to a chat request lets caches store it and serve it to others."""
    found = exchange.header("cache-control") or ""
    for word in found.split(","):
        name, _equals, value = word.strip().lower().partition("=")
        if name == "public" or (name in ("max-age", "s-maxage") and value.strip('"') not in ("", "0")):
            yield Finding("/headers/cache-control", "no permission to store the answer", found)
            return


@check("http.connection-kept-open", on=CHAT)
def connection_is_kept_open(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The connection stays open after an answer, so that the next request can reuse it, unless the client closes it."""
    asked = [value for name, value in exchange.request.headers if name.lower() == "connection"]
    if any("close" in value.lower() for value in asked):
        raise NotExercised("the request asks to close the connection")
    found = exchange.header("connection") or ""
    if "close" in [word.strip().lower() for word in found.split(",")]:
        yield Finding("/headers/connection", "keep-alive", found)


@relation("http.answers-differ-in-id", over=("plain", "plain-again"), unmet=why_unanswered)
def answers_have_ids_of_their_own(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Two answers have different ids."""
    bodies = [exchanges[name].json for name in ("plain", "plain-again")]
    first, second = (body.get("id") if isinstance(body, dict) else None for body in bodies)
    if first is None or second is None:
        raise NotExercised("the answers have no id")
    if first == second:
        yield Finding("/id", f"another id than {first!r}", repr(second))
