"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, check
from conformance.judge.acceptance import status_of
from conformance.judge.applicability import scenario, shown, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

NOT_IMPLEMENTED = 501

KEEPS_THE_METHOD = (307, 308)


@check("http.unknown-path-is-404", on=scenario("unknown-path"))
def unknown_path_is_not_found(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A path that does not exist is answered with 404.

    A gateway that asks for the key first may answer 401 or 403; it gives nothing away.
    """
    if status_of(exchange) not in (401, 403, 404):
        yield Finding("/status", "404", shown(exchange))


@check("http.get-refused", on=scenario("get-chat"))
def get_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """GET on the chat endpoint is refused with 405 (or 404), not answered and not a 5xx."""
    if status_of(exchange) not in (404, 405):
        yield Finding("/status", "405", shown(exchange))


@check("http.allow-header", on=scenario("get-chat"))
def refused_method_names_the_allowed_ones(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A 405 names the allowed methods in its Allow header."""
    if status_of(exchange) != 405:
        raise NoOccasion(f"the status is {exchange.status}")
    allowed = [method.strip() for method in (exchange.header("allow") or "").split(",")]
    if "POST" not in allowed:
        yield Finding("/headers/allow", "POST", exchange.header("allow") or "no header")


@check("http.other-methods-refused", on=scenario("other-methods"))
def other_methods_are_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """PUT, DELETE and PATCH on the chat endpoint are refused: no success, no redirect, no 5xx but 501."""
    status = status_of(exchange)
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
    status = status_of(exchange)
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
    if 200 <= status_of(exchange) < 300 or status_of(exchange) >= 500:
        yield Finding("/status", "404", shown(exchange))
