"""Tell what the recorded answers show about the model, so that a server is not reported for it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from conformance.check import NotExercised
from conformance.judge.logprob_entries import first_entries

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.exchange import Exchange

REPLACED: Final = re.compile(rb"\xef\xbf\xbd|\\u[fF]{3}[dD]")
ENOUGH_ANSWERS: Final = 5
SHARE: Final = 0.2
"""A model generates invalid UTF-8 if this share of its answers to ASCII prompts contains U+FFFD."""
HOT: Final = 2.0
SPREAD: Final = 1000
"""Over how many tokens the probability is taken to be spread that the listed tokens leave."""
UNLIKELY: Final = 0.1
"""An answer that a hot model repeats with a smaller probability shows whether the temperature has an effect."""


def generates_invalid_utf8(recorded: Iterable[Exchange]) -> bool:
    """Return whether the model generates invalid UTF-8, as one with random weights does.

    A server that cuts characters shows U+FFFD where a prompt is about other scripts, and hardly elsewhere.
    """
    answered = [
        exchange.body
        for exchange in recorded
        if exchange.status == 200 and exchange.request.body.isascii() and b'"choices"' in exchange.body
    ]
    garbled = sum(REPLACED.search(body) is not None for body in answered)
    return len(answered) >= ENOUGH_ANSWERS and garbled >= SHARE * len(answered)


def chance_of_repeating(greedy: Exchange, temperature: float, top_p: float = 1.0) -> float:
    """Return the probability that a sampled answer is the greedy one, at most. It is 1 if no log-probabilities show it.

    Tokens that are not listed count as impossible. Of a token that top_p may leave alone nothing is known.
    """
    try:
        entries = first_entries(greedy)
    except NotExercised:
        return 1.0
    chance = 1.0
    for entry in entries:
        others = [item.logprob for item in entry.top if item.token != entry.token and math.isfinite(item.logprob)]
        share = 1 / (1 + sum(math.exp(min(0.0, other - entry.logprob) / temperature) for other in others))
        chance *= min(1.0, share / top_p)
    return chance


def repeats_when_hot(greedy: Exchange) -> bool:
    """Return whether the model may repeat its greedy answer at a high temperature, by its log-probabilities.

    Without log-probabilities nothing is known.
    """
    try:
        entries = first_entries(greedy)
    except NotExercised:  # the answer has no log-probabilities
        return False
    if not all(entry.top and math.isfinite(entry.logprob) for entry in entries):
        return False
    likely = 1.0
    for entry in entries:
        others = [item.logprob for item in entry.top if item.token != entry.token and math.isfinite(item.logprob)]
        rest = max(0.0, 1 - sum(math.exp(min(0.0, value)) for value in (entry.logprob, *others)))
        likely /= (
            1 + sum(math.exp(min(0.0, other - entry.logprob) / HOT) for other in others) + math.sqrt(SPREAD * rest)
        )
    return likely > UNLIKELY
