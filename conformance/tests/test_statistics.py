"""Sequential statistics: the stated error rates hold over many simulated servers."""

from __future__ import annotations

from random import Random

import pytest

from conformance.statistics import AT_SIGHT, CAREFUL, TENDENCY, Decision, SequentialTest

SERVERS, ROUNDS = 20_000, 8


def share(test: SequentialTest, probability: float, decision: Decision, rounds: int = ROUNDS) -> float:
    """How many of many servers, each showing the mark with that probability, come to that decision."""
    rng = Random(20261121)
    found = [test.decide(rng.random() < probability for _ in range(rounds)) for _ in range(SERVERS)]
    return found.count(decision) / SERVERS


@pytest.mark.parametrize("test", [CAREFUL, AT_SIGHT])
@pytest.mark.parametrize("probability", [0.8, 0.9, 1.0])
@pytest.mark.parametrize("rounds", [ROUNDS, 60])
def test_who_honours_a_parameter_is_hardly_ever_accused(test: SequentialTest, probability: float, rounds: int) -> None:
    noise = 3 * (test.false_alarm / SERVERS) ** 0.5
    assert share(test, probability, "ignored", rounds) <= test.false_alarm + noise


@pytest.mark.parametrize("test", [CAREFUL, AT_SIGHT])
@pytest.mark.parametrize("probability", [0.0, 0.1, 0.2])
def test_who_ignores_a_parameter_is_seldom_believed(test: SequentialTest, probability: float) -> None:
    noise = 3 * (test.miss / SERVERS) ** 0.5
    assert share(test, probability, "honoured", 60) <= test.miss + noise


def test_who_always_ignores_a_parameter_is_accused_after_five_rounds() -> None:
    decisions = [CAREFUL.decide([False] * rounds) for rounds in range(1, 7)]
    assert ["open"] * 4 + ["ignored"] * 2 == decisions


def test_who_always_honours_a_parameter_is_believed_after_three_rounds() -> None:
    decisions = [CAREFUL.decide([True] * rounds) for rounds in range(1, 5)]
    assert ["open"] * 2 + ["honoured"] * 2 == decisions


def test_what_is_hardly_an_effect_stays_open() -> None:
    assert share(CAREFUL, 0.5, "open") > 0.2


def test_the_first_decision_stands() -> None:
    assert CAREFUL.decide([True] * 3 + [False] * 50) == "honoured"
    assert CAREFUL.decide([False] * 5 + [True] * 50) == "ignored"
    assert AT_SIGHT.decide([True] + [False] * 50) == "honoured"


def test_a_tendency_the_wrong_way_round_is_found_within_eight_rounds() -> None:
    assert share(TENDENCY, 0.0, "ignored") == 1.0
    assert share(TENDENCY, 0.9, "ignored") <= TENDENCY.false_alarm
    assert share(TENDENCY, 0.4, "honoured", 60) <= TENDENCY.miss
