"""Checks of cross-origin requests of browsers: a server that allows them does so consistently (Fetch Standard, "CORS
protocol").

A server that never sends Access-Control-Allow-Origin allows no other origins, which conforms; these checks then do not
apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, relation
from conformance.judge.applicability import summarize, why_no_response

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

STEPS = ("preflight", "posted", "refused")
ALLOW_ORIGIN = "access-control-allow-origin"


def _words(exchange: Exchange, name: str) -> set[str]:
    """Return the values of a list header in lower case."""
    return {word.strip().lower() for word in (exchange.header(name) or "").split(",") if word.strip()}


def _require_allowed(exchanges: Mapping[str, Exchange], *names: str) -> None:
    """Raise NotExercised unless the response to one of these steps allows the origin."""
    if not any(exchanges[name].header(ALLOW_ORIGIN) for name in names):
        raise NotExercised("the server allows no other origins")


@relation("cors.preflight-answered", over=STEPS, unmet=why_no_response)
def preflight_is_answered(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """If answers are allowed to other origins, the preflight succeeds: otherwise browsers do not send the request.

    A preflight has no key, so a server that requires one for it excludes every browser.
    """
    _require_allowed(exchanges, "posted")
    preflight = exchanges["preflight"]
    if not 200 <= (preflight.status or 0) < 300 or not preflight.header(ALLOW_ORIGIN):
        yield Finding("/status", f"2xx with {ALLOW_ORIGIN}", summarize(preflight))


@relation("cors.preflight-allows-headers", over=STEPS, unmet=why_no_response)
def preflight_allows_the_headers(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A successful preflight allows the headers that every request has: content-type, and authorization if there are
    keys.
    """
    _require_allowed(exchanges, "preflight")
    found = _words(exchanges["preflight"], "access-control-allow-headers")
    needed = {"content-type"} | (set() if context.contract.auth == "none" else {"authorization"})
    missing = needed - found - ({"content-type"} if "*" in found else set())
    if missing:
        yield Finding("/headers/access-control-allow-headers", ", ".join(sorted(needed)), ", ".join(sorted(found)))


@relation("cors.answers-allowed", over=STEPS, unmet=why_no_response)
def answer_is_allowed_after_the_preflight(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """If the preflight succeeds, the answer is allowed too: otherwise the browser hides it from the page."""
    _require_allowed(exchanges, "preflight")
    if not exchanges["posted"].header(ALLOW_ORIGIN):
        yield Finding(f"/headers/{ALLOW_ORIGIN}", "as in the preflight", "no header")


@relation("cors.refusals-allowed", over=STEPS, unmet=why_no_response)
def refusal_is_allowed_like_an_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """If answers are allowed, refusals are too: otherwise the page cannot read what was wrong."""
    _require_allowed(exchanges, "posted")
    if not exchanges["refused"].header(ALLOW_ORIGIN):
        yield Finding(f"/headers/{ALLOW_ORIGIN}", "as in the answer", "no header")


@relation("cors.wildcard-without-credentials", over=STEPS, unmet=why_no_response)
def wildcard_excludes_credentials(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """`*` is not combined with Access-Control-Allow-Credentials: browsers reject the combination."""
    _require_allowed(exchanges, *STEPS)
    for name in STEPS:
        credentials = exchanges[name].header("access-control-allow-credentials") or ""
        if exchanges[name].header(ALLOW_ORIGIN) == "*" and credentials.strip() == "true":
            yield Finding(f"/{name}/headers/{ALLOW_ORIGIN}", "an origin, or no credentials", "* with credentials")


@relation("cors.origin-varies", over=STEPS, unmet=why_no_response)
def echoed_origin_is_told_to_caches(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that repeats the request's origin has `Vary: Origin`, so that no cache serves it to another origin."""
    _require_allowed(exchanges, "posted")
    posted = exchanges["posted"]
    if posted.header(ALLOW_ORIGIN) != "*" and not {"origin", "*"} & _words(posted, "vary"):
        yield Finding("/headers/vary", "Origin", posted.header("vary") or "no header")
