"""Checks of paths and methods: what the server answers, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.acceptance import status_of
from conformance.judge.applicability import in_scenario, summarize, why_unanswered
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

NOT_IMPLEMENTED = 501
KEEPS_THE_METHOD = (307, 308)


@check("http.unknown-path-is-404", on=in_scenario("unknown-path"))
def unknown_path_is_not_found(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A path that does not exist is answered with 404.

    A gateway that checks the key first may answer 401 or 403, so that it discloses nothing.
    """
    if status_of(exchange) not in (401, 403, 404):
        yield Finding("/status", "404", summarize(exchange))


@check("http.get-refused", on=in_scenario("get-chat"))
def get_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """GET on the chat endpoint is refused with 405 or 404, neither answered nor a 5xx."""
    if status_of(exchange) not in (404, 405):
        yield Finding("/status", "405", summarize(exchange))


@check("http.allow-header", on=in_scenario("get-chat"))
def refused_method_names_the_allowed_ones(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A 405 lists the allowed methods in its Allow header."""
    if status_of(exchange) != 405:
        raise NotExercised(f"the status is {exchange.status}")
    allowed = [method.strip() for method in (exchange.header("allow") or "").split(",")]
    if "POST" not in allowed:
        yield Finding("/headers/allow", "POST", exchange.header("allow") or "no header")


@check("http.other-methods-refused", on=in_scenario("other-methods"))
def other_methods_are_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """PUT, DELETE and PATCH on the chat endpoint are refused: no success, no redirect, no 5xx except 501."""
    status = status_of(exchange)
    if not 400 <= status < 500 and status != NOT_IMPLEMENTED:
        yield Finding("/status", "405", summarize(exchange))


@check("http.options-survived", on=in_scenario("options"))
def options_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """OPTIONS on the chat endpoint is answered or refused, never with a 5xx except 501."""
    if exchange.status is None or (exchange.status >= 500 and exchange.status != NOT_IMPLEMENTED):
        yield Finding("/status", "2xx or 4xx", summarize(exchange))


@check("http.head-survived", on=in_scenario("head-models"))
def head_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """HEAD on the list of models is answered without a body or refused, never with a 5xx except 501."""
    if exchange.status is None or (exchange.status >= 500 and exchange.status != NOT_IMPLEMENTED):
        yield Finding("/status", "2xx or 4xx", summarize(exchange))
    elif exchange.body:
        yield Finding("/body", "no body", format_quantity(len(exchange.body), "byte"))


@check("http.slash-keeps-method", on=in_scenario("other-addresses", "slash"))
def slash_at_the_end_does_not_lose_the_body(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """POST to the path with a slash at its end is answered, refused, or redirected as a POST (307 or 308).

    Other redirects make clients repeat the request with GET and without a body.
    """
    status = status_of(exchange)
    if 300 <= status < 400 and status not in KEEPS_THE_METHOD:
        yield Finding("/status", "307 or 308", summarize(exchange))


@check("http.query-ignored", on=in_scenario("other-addresses", "query"))
def unknown_query_is_ignored(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A query parameter that no document defines is ignored."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200", reason)


@check("http.below-endpoint-is-404", on=in_scenario("other-addresses", "below"))
def path_below_the_endpoint_is_not_found(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A path below the endpoint that no document defines is not answered like the endpoint."""
    if 200 <= status_of(exchange) < 300 or status_of(exchange) >= 500:
        yield Finding("/status", "404", summarize(exchange))
