"""Browsers of other origins: a server that lets them in does so throughout. The Fetch Standard, "CORS protocol".

A server that never sends Access-Control-Allow-Origin lets nobody in, which is its right: nothing here is about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, relation
from conformance.judge.applicability import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

STEPS = ("preflight", "posted", "refused")
ALLOWED = "access-control-allow-origin"


def _silent(exchange: Exchange) -> str | None:
    return None if exchange.response is not None else f"{exchange.id} got no answer ({shown(exchange)})"


def _words(exchange: Exchange, name: str) -> set[str]:
    """The words of a list field, in lower case."""
    return {word.strip().lower() for word in (exchange.header(name) or "").split(",") if word.strip()}


def _letting_in(exchanges: Mapping[str, Exchange], *names: str) -> None:
    """Raises NoOccasion unless one of these steps was answered as if the origin were let in."""
    if not any(exchanges[name].header(ALLOWED) for name in names):
        raise NoOccasion("the server lets no other origin in")


@relation("cors.preflight-answered", over=STEPS, lacks=_silent)
def preflight_is_answered(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Where answers are allowed to other origins, the preflight succeeds: browsers send no request otherwise.

    A preflight carries no key; a server that asks it for one locks every browser out.
    """
    _letting_in(exchanges, "posted")
    preflight = exchanges["preflight"]
    if not 200 <= (preflight.status or 0) < 300 or not preflight.header(ALLOWED):
        yield Finding("/status", f"2xx with {ALLOWED}", shown(preflight))


@relation("cors.preflight-allows-headers", over=STEPS, lacks=_silent)
def preflight_allows_the_headers(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A preflight that succeeds allows the header fields that every request has: content-type, and the key's."""
    _letting_in(exchanges, "preflight")
    found = _words(exchanges["preflight"], "access-control-allow-headers")
    needed = {"content-type"} | (set() if context.contract.auth == "none" else {"authorization"})
    missing = needed - found - ({"content-type"} if "*" in found else set())
    if missing:
        yield Finding("/headers/access-control-allow-headers", ", ".join(sorted(needed)), ", ".join(sorted(found)))


@relation("cors.answers-allowed", over=STEPS, lacks=_silent)
def answer_is_allowed_after_the_preflight(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Where the preflight succeeds, the answer is allowed too: the browser keeps it from the page otherwise."""
    _letting_in(exchanges, "preflight")
    if not exchanges["posted"].header(ALLOWED):
        yield Finding(f"/headers/{ALLOWED}", "as in the preflight", "no header")


@relation("cors.refusals-allowed", over=STEPS, lacks=_silent)
def refusal_is_allowed_like_an_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Where answers are allowed, refusals are too: the page could not read what was wrong otherwise."""
    _letting_in(exchanges, "posted")
    if not exchanges["refused"].header(ALLOWED):
        yield Finding(f"/headers/{ALLOWED}", "as in the answer", "no header")


@relation("cors.wildcard-without-credentials", over=STEPS, lacks=_silent)
def wildcard_excludes_credentials(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """`*` does not stand beside Access-Control-Allow-Credentials: browsers refuse the two together."""
    _letting_in(exchanges, *STEPS)
    for name in STEPS:
        credentials = exchanges[name].header("access-control-allow-credentials") or ""
        if exchanges[name].header(ALLOWED) == "*" and credentials.strip() == "true":
            yield Finding(f"/{name}/headers/{ALLOWED}", "an origin, or no credentials", "* with credentials")


@relation("cors.origin-varies", over=STEPS, lacks=_silent)
def echoed_origin_is_told_to_caches(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that repeats the request's origin says `Vary: Origin`, so that no cache gives it to another."""
    _letting_in(exchanges, "posted")
    posted = exchanges["posted"]
    if posted.header(ALLOWED) != "*" and not {"origin", "*"} & _words(posted, "vary"):
        yield Finding("/headers/vary", "Origin", posted.header("vary") or "no header")
