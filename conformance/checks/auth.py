"""Keys: nothing is answered without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotObserved, check
from conformance.checks.parameters import refused
from conformance.occasion import refuses_key, scenario, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("auth.key-demanded", on=scenario("key-missing"))
def missing_key_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request without a key is refused."""
    if not refused(exchange):
        yield Finding("/headers/authorization", "refused without a key", shown(exchange))


@check("auth.wrong-key-refused", on=scenario("key-wrong*"))
def wrong_key_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with a wrong key, or with a key that is not a bearer token, is refused."""
    if not refused(exchange):
        yield Finding("/headers/authorization", "refused with a wrong key", shown(exchange))


@check("auth.refused-when-streaming", on=scenario("key-missing-streamed"))
def missing_key_is_refused_when_streaming(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A streamed request without a key is refused before any event."""
    if not refused(exchange):
        yield Finding("/headers/authorization", "refused without a key", shown(exchange))


@check("auth.refusal-code", on=scenario("key-*", refused=True))
def refusal_carries_a_documented_code(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The refusal of a key carries a code that the error table has for keys."""
    if not refuses_key(exchange, context.contract):
        yield Finding("/code", "a code for keys of the dialect's error table", shown(exchange))


@check("auth.refused-before-validation", on=scenario("key-missing-invalid"))
def key_is_asked_for_first(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Without a key a bad request is refused for the key, so that strangers learn nothing about the parameters."""
    if exchange.status is None:
        raise NotObserved(shown(exchange))
    if exchange.status not in (401, 403) and not refuses_key(exchange, context.contract):
        yield Finding("/status", "401", shown(exchange))
