"""Tests of what is drawn with penalties and with top_p, on entries that are drawn from known distributions."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from conformance.judge.checks.effects.narrowing import _divide
from conformance.judge.checks.effects.penalised_draws import PROOF, SHARES, _log_likelihood
from conformance.judge.logprob_entries import LogprobEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

WEIGHTS = {"red": 0.5, "fox": 0.3, "sea": 0.15, "sky": 0.05}


def entry(token: str, weights: dict[str, float]) -> LogprobEntry:
    items: dict[str, dict[str, Any]] = {
        name: {"token": name, "logprob": math.log(weight), "bytes": list(name.encode())}
        for name, weight in weights.items()
    }
    return LogprobEntry("/0", {**items[token], "top_logprobs": list(items.values())})


def draw(presence: float, frequency: float, seed: int) -> Sequence[LogprobEntry]:
    """Return 40 entries of tokens that are drawn with penalties, as a server draws them."""
    source, counts, drawn = random.Random(seed), dict.fromkeys(WEIGHTS, 0), []
    for _ in range(40):
        left = [
            weight * math.exp(-presence * (counts[name] > 0) - frequency * counts[name])
            for name, weight in WEIGHTS.items()
        ]
        (token,) = source.choices(list(WEIGHTS), left)
        counts[token] += 1
        drawn.append(entry(token, WEIGHTS))
    return drawn


def gain(choices: Sequence[Sequence[LogprobEntry]]) -> float:
    """Return by how much lower penalties than 2 make the tokens likelier."""
    found = [
        sum(_log_likelihood(choice, 2 * first, 2 * second) for choice in choices)
        for first in SHARES
        for second in SHARES
    ]
    return max(found) - found[-1]


@pytest.mark.takes_turns
@pytest.mark.parametrize("seed", range(20))
def test_tokens_that_are_drawn_with_the_penalties_are_no_proof(seed: int) -> None:
    assert gain([draw(2.0, 2.0, seed * 100 + at) for at in range(12)]) < PROOF


@pytest.mark.parametrize(("presence", "frequency"), [(0.0, 0.0), (1.0, 1.0), (2.0, 1.0)])
def test_tokens_that_are_drawn_with_lower_penalties_are_proof(presence: float, frequency: float) -> None:
    assert gain([draw(presence, frequency, at) for at in range(12)]) > PROOF


@pytest.mark.parametrize(
    ("limit", "before", "last"),
    [(0.5, [], None), (0.6, ["red"], "fox"), (0.81, ["red", "fox"], None), (0.9, ["red", "fox"], "sea")],
)
def test_the_token_that_reaches_top_p_is_known_unless_it_is_the_first_or_near(
    limit: float, before: list[str], last: str | None
) -> None:
    weights = {**WEIGHTS, "red": 0.51, "sky": 0.04}
    found, item = _divide(entry("red", weights), limit)
    assert ([other.token for other in found], item and item.token) == (before, last)
