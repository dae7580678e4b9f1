"""The sequential test keeps its stated error rates over many simulated servers."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from conformance.plan.capabilities import DeclaredCapabilities
from conformance.run.drafting import draft
from conformance.statistics import (
    AT_SIGHT,
    CAREFUL,
    MOST_TRIALS,
    RUN_FALSE_ALARM,
    SAME_ANSWER,
    TENDENCY,
    Decision,
    SequentialTest,
)
from conformance.tests.conftest import DIALECTS
from openapi.contract.contract import Keyword, load

SERVERS, ROUNDS = 20_000, 12


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


def test_eight_rounds_without_the_effect_decide_ignored() -> None:
    decisions = [CAREFUL.decide([False] * rounds) for rounds in range(1, 10)]
    assert ["open"] * 7 + ["ignored"] * 2 == decisions


def test_three_rounds_with_the_effect_decide_honoured() -> None:
    decisions = [CAREFUL.decide([True] * rounds) for rounds in range(1, 5)]
    assert ["open"] * 2 + ["honoured"] * 2 == decisions


def test_an_effect_in_half_of_the_rounds_often_stays_open() -> None:
    assert share(CAREFUL, 0.5, "open") > 0.2


def test_later_rounds_do_not_change_a_decision() -> None:
    assert CAREFUL.decide([True] * 3 + [False] * 50) == "honoured"
    assert CAREFUL.decide([False] * 8 + [True] * 50) == "ignored"
    assert AT_SIGHT.decide([True] + [False] * 50) == "honoured"


def test_a_reversed_tendency_is_detected_within_twelve_rounds() -> None:
    assert share(TENDENCY, 0.0, "ignored") == 1.0
    assert share(TENDENCY, 0.9, "ignored") <= TENDENCY.false_alarm
    assert share(TENDENCY, 0.4, "honoured", 60) <= TENDENCY.miss


@cache
def probability_of(test: SequentialTest, shown: float, decision: Decision, rounds: int) -> float:
    """Return the exact probability of a decision within some rounds if each shows the effect with a probability."""
    reached: float = 0.0
    undecided: list[tuple[tuple[bool, ...], float]] = [((), 1.0)]
    for _ in range(rounds):
        longer = [
            ((*results, result), weight * (shown if result else 1 - shown))
            for results, weight in undecided
            for result in (True, False)
        ]
        decided = [(test.decide(results), results, weight) for results, weight in longer]
        reached += sum(weight for made, _, weight in decided if made == decision)
        undecided = [(results, weight) for made, results, weight in decided if made == "open"]
    return reached


def test_chance_alone_reports_a_correct_server_in_at_most_one_of_a_thousand_runs() -> None:
    """The sum over all trials, at the lowest share at which a server counts as one that honours a parameter."""
    for dialect in DIALECTS:
        contract = load(dialect)
        every = DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "all of them")
        trials = [
            (assertion.check.trial.test, assertion.scenario.rounds)
            for assertion in draft(contract, every, depth="thorough").assertions
            if assertion.check.trial is not None and assertion.requirement.keyword is not Keyword.MAY
        ]
        chances = [probability_of(test, test.honoured, "ignored", rounds) for test, rounds in trials]
        assert 10 < len(trials) <= MOST_TRIALS, dialect
        assert sum(chances) <= RUN_FALSE_ALARM, dialect


@pytest.mark.parametrize("test", [CAREFUL, AT_SIGHT, TENDENCY, SAME_ANSWER])
def test_the_exact_probability_is_that_of_many_simulated_servers(test: SequentialTest) -> None:
    exact = probability_of(test, 0.4, "ignored", ROUNDS)
    assert abs(exact - share(test, 0.4, "ignored")) < 0.02
