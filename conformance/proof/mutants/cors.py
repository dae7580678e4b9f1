"""Mutants of CORS headers: other origins are allowed in some responses only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import with_header
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

ALLOWED = "access-control-allow-origin"


def _allow(exchange: Exchange, *, except_step: str) -> Exchange:
    """Allow every origin in all steps but one."""
    return with_header(exchange, ALLOWED, None if exchange.step == except_step else "*")


@mutant("cors.preflight-answered", steps="*")
def preflight_is_forgotten(exchange: Exchange) -> Exchange:
    """Answers are allowed to every origin, but the preflight is not."""
    return _allow(exchange, except_step="preflight")


@mutant("cors.preflight-allows-headers", steps="preflight")
def headers_are_forgotten(exchange: Exchange) -> Exchange:
    """The preflight allows the origin but no headers."""
    return with_header(with_header(exchange, ALLOWED, "*"), "access-control-allow-headers", None)


@mutant("cors.answers-allowed", steps="*")
def answer_is_forgotten(exchange: Exchange) -> Exchange:
    """The preflight allows the origin, but the answer does not."""
    return _allow(exchange, except_step="posted")


@mutant("cors.refusals-allowed", steps="*")
def refusal_is_forgotten(exchange: Exchange) -> Exchange:
    """Answers are allowed to every origin, but refusals are not."""
    return _allow(exchange, except_step="refused")


@mutant("cors.wildcard-without-credentials", steps="posted")
def wildcard_has_credentials(exchange: Exchange) -> Exchange:
    """Answers are allowed to every origin with credentials."""
    return with_header(with_header(exchange, ALLOWED, "*"), "access-control-allow-credentials", "true")


@mutant("cors.origin-varies", steps="posted")
def caches_are_told_nothing(exchange: Exchange) -> Exchange:
    """Answers repeat the origin without `Vary: Origin`."""
    return with_header(with_header(exchange, ALLOWED, "https://chatproof.example"), "vary", None)
