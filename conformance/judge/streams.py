"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Finding, NoOccasion, NotObserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange, Response

SLOW_S = 1.0  # an answer that took less shows nothing about buffering


def breaches(exchange: Exchange, *rules: str) -> Iterator[Finding]:
    """The breaches of these rules of the stream's order, as findings."""
    for breach in exchange.walk.breaches:
        if breach.rule in rules:
            yield Finding(f"/events/{breach.at}", breach.expected, breach.got)


def chunks(exchange: Exchange) -> list[tuple[int, dict[str, Any]]]:
    """The chunks of the stream that are no errors; raises NotObserved when there are none."""
    errors = {at for at, _ in exchange.walk.errors}
    found = [(at, chunk) for at, chunk in exchange.walk.chunks if at not in errors]
    if not found:
        raise NotObserved("the stream has no chunks")
    return found


def choices(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    """The choices of a chunk that are objects."""
    found = chunk.get("choices")
    return [choice for choice in found if isinstance(choice, dict)] if isinstance(found, list) else []


def deltas(exchange: Exchange) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every delta that is an object, with its place."""
    for at, chunk in chunks(exchange):
        for choice in choices(chunk):
            if isinstance(choice.get("delta"), dict):
                yield f"/events/{at}/choices/{choice.get('index')}/delta", choice["delta"]


def flaws(exchange: Exchange, *kinds: str) -> Iterator[Finding]:
    """The flaws of these kinds in the stream's bytes, as findings."""
    for flaw in exchange.decoded.flaws:
        if flaw.kind in kinds:
            yield Finding(f"/bytes/{flaw.offset}", f"no {flaw.kind}", flaw.detail)


def response_of(exchange: Exchange) -> Response:
    if exchange.response is None:
        raise NoOccasion("there is no response")
    return exchange.response


def timed_response(exchange: Exchange) -> Response:
    """The response, where the client ran all the time while it came."""
    response = response_of(exchange)
    if response.held_up_s:
        raise NoOccasion(f"the client itself was held up for {response.held_up_s:.1f} s")
    return response
