"""Read the chunks, choices and deltas of a recorded stream, and turn what its decoder reported into findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.check import Finding, NotExercised, NotObserved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange, Response

PLACES: Final[Mapping[str, str]] = {
    "choices-is-a-list": "/choices",
    "index-is-an-integer": "/choices/*/index",
    "one-finish-per-choice": "/choices/*/finish_reason",
    "role-first": "/choices/*/delta/role",
    "usage-after-finish": "/usage",
}
"""The field of the event that a rule is about."""
SLOW_S = 1.0  # the timing of a faster answer says nothing about buffering


def order_findings(exchange: Exchange, *rules: str) -> Iterator[Finding]:
    """Yield a finding for each place where the order of events breaks one of these rules.

    The place of an event that should follow the last one is `-`, as in JSON pointers (RFC 6901).
    """
    for breach in exchange.walk.breaches:
        if breach.rule in rules:
            at = breach.at if breach.at < len(exchange.events) else "-"
            yield Finding(f"/events/{at}{PLACES.get(breach.rule, '')}", breach.expected, breach.got)


def byte_findings(exchange: Exchange, *kinds: str) -> Iterator[Finding]:
    """Yield a finding for each anomaly of these kinds in the bytes of the stream."""
    for anomaly in exchange.decoded.anomalies:
        if anomaly.kind in kinds:
            yield Finding(f"/bytes/{anomaly.offset}", f"no {anomaly.kind}", anomaly.detail)


def chunks(exchange: Exchange) -> list[tuple[int, dict[str, Any]]]:
    """Return (number of the event, chunk) for every chunk except errors. Raises NotObserved if the list is empty."""
    errors = {at for at, _ in exchange.walk.errors}
    numbered = [(at, chunk) for at, chunk in exchange.walk.chunks if at not in errors]
    if not numbered:
        raise NotObserved("the stream has no chunks")
    return numbered


def choices(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the choices of a chunk that are objects."""
    items = chunk.get("choices")
    return [choice for choice in items if isinstance(choice, dict)] if isinstance(items, list) else []


def deltas(exchange: Exchange) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (path, delta) for every delta that is an object."""
    for at, chunk in chunks(exchange):
        for choice in choices(chunk):
            if isinstance(choice.get("delta"), dict):
                yield f"/events/{at}/choices/{choice.get('index')}/delta", choice["delta"]


def response_of(exchange: Exchange) -> Response:
    """Return the response. Raises NotExercised if it is missing."""
    if exchange.response is None:
        raise NotExercised("the response is missing")
    return exchange.response


def timed_response(exchange: Exchange) -> Response:
    """Return the response if its arrival times are reliable.

    Raises NotExercised if the client's event loop stalled while the response arrived: the times are then ours, not the
    server's.
    """
    response = response_of(exchange)
    if response.stalled_s:
        raise NotExercised(f"the client stalled for {response.stalled_s:.1f} s")
    return response
