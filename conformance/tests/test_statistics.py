"""The sequential test keeps its stated error rates over many simulated servers."""

from __future__ import annotations

from random import Random

import pytest

from conformance.statistics import AT_SIGHT, CAREFUL, TENDENCY, Decision, SequentialTest

SERVERS, ROUNDS = 20_000, 8


def share(test: SequentialTest, probability: float, decision: Decision, rounds: int = ROUNDS) -> float:
    """Return the share of servers with a decision if each round shows the effect with a probability."""
    rng = Random(20261121)
    decisions = [test.decide(rng.random() < probability for _ in range(rounds)) for _ in range(SERVERS)]
    return decisions.count(decision) / SERVERS


@pytest.mark.parametrize("test", [CAREFUL, AT_SIGHT])
@pytest.mark.parametrize("probability", [0.8, 0.9, 1.0])
@pytest.mark.parametrize("rounds", [ROUNDS, 60])
def test_a_server_that_honours_a_parameter_rarely_fails(test: SequentialTest, probability: float, rounds: int) -> None:
    noise = 3 * (test.false_alarm / SERVERS) ** 0.5
    assert share(test, probability, "ignored", rounds) <= test.false_alarm + noise


@pytest.mark.parametrize("test", [CAREFUL, AT_SIGHT])
@pytest.mark.parametrize("probability", [0.0, 0.1, 0.2])
def test_a_server_that_ignores_a_parameter_rarely_passes(test: SequentialTest, probability: float) -> None:
    noise = 3 * (test.miss / SERVERS) ** 0.5
    assert share(test, probability, "honoured", 60) <= test.miss + noise


def test_five_rounds_without_the_effect_decide_ignored() -> None:
    decisions = [CAREFUL.decide([False] * rounds) for rounds in range(1, 7)]
    assert ["open"] * 4 + ["ignored"] * 2 == decisions


def test_three_rounds_with_the_effect_decide_honoured() -> None:
    decisions = [CAREFUL.decide([True] * rounds) for rounds in range(1, 5)]
    assert ["open"] * 2 + ["honoured"] * 2 == decisions


def test_an_effect_in_half_of_the_rounds_often_stays_open() -> None:
    assert share(CAREFUL, 0.5, "open") > 0.2


def test_later_rounds_do_not_change_a_decision() -> None:
    assert CAREFUL.decide([True] * 3 + [False] * 50) == "honoured"
    assert CAREFUL.decide([False] * 5 + [True] * 50) == "ignored"
    assert AT_SIGHT.decide([True] + [False] * 50) == "honoured"


def test_a_reversed_tendency_is_detected_within_eight_rounds() -> None:
    assert share(TENDENCY, 0.0, "ignored") == 1.0
    assert share(TENDENCY, 0.9, "ignored") <= TENDENCY.false_alarm
    assert share(TENDENCY, 0.4, "honoured", 60) <= TENDENCY.miss
