"""Find log-probabilities that differ between answers although the tokens before them are the same.

A log-probability depends on the prompt, on the tokens in front of it and, on some servers, on how the request narrows
the choice; not on the limit, the form, the seed or the other requests of a run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from conformance.judge.logprob_entries import any_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from conformance.exchange import Exchange

DRIFT: Final = 0.6  # nats between two answers: twice what two requests one after the other may differ by
PER_NAT: Final = 0.1  # the less likely a token, the more its value depends on rounding
LEAST: Final = -20.0  # some servers report one value for all unlikely tokens
ENOUGH: Final = 2
"""Numbers of one answer that have to differ: a single one may have been computed in another way."""


@dataclass(frozen=True, slots=True)
class OddNumber:
    """A log-probability that differs from the usual one. where: the path of its entry in the answer."""

    where: str
    usual: float
    found: float


def find_odd_numbers(told: Iterable[tuple[Exchange, str]]) -> Mapping[str, tuple[OddNumber, ...]]:
    """Return the numbers that differ from those of the same token after the same tokens, by the id of the exchange.

    told: answers, each with a key that is equal for requests with the same log-probabilities. The result has all
    answers that can be compared, without numbers unless several differ.
    """
    known: dict[tuple[str, ...], list[tuple[Exchange, str, float]]] = defaultdict(list)
    for exchange, key in told:
        for place, where, value in _list_numbers(exchange):
            known[(key, *place)].append((exchange, where, value))
    odd: dict[str, list[OddNumber]] = {}
    for values in known.values():
        if len({exchange.id for exchange, _, _ in values}) < 2:
            continue
        for at, (exchange, where, value) in enumerate(values):
            numbers = odd.setdefault(exchange.id, [])
            usual = median(other for place, (_, _, other) in enumerate(values) if place != at)
            if abs(value - usual) > DRIFT + PER_NAT * abs(max(value, usual)):
                numbers.append(OddNumber(where, usual, value))
    return {identity: tuple(numbers) if len(numbers) >= ENOUGH else () for identity, numbers in odd.items()}


def _list_numbers(exchange: Exchange) -> Iterator[tuple[tuple[str, ...], str, float]]:
    """Yield the tokens in front of each chosen token and the token itself, the path of its entry, and its number."""
    for entries in any_entries(exchange).values():
        tokens: tuple[str, ...] = ()
        for entry in entries:
            if not entry.identifies_token:
                break
            tokens = (*tokens, entry.token)
            if math.isfinite(entry.logprob) and entry.logprob >= LEAST:
                yield tokens, entry.where, entry.logprob
