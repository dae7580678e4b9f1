"""Rounds: what is sent again, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.check import NotExercised
from conformance.judge.check_registry import gather_checks
from conformance.judge.rounds import pending, trial
from conformance.proof.editing.answers import with_text
from conformance.proof.editing.responses import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.check import Check, Round
    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.tests.conftest import Good

SAMPLING = "effects-of-sampling"
CHECKS = gather_checks()


@pytest.fixture
def mindie(read_good: Callable[[str], Good]) -> Good:
    """The recorded run of MindIE 2.3."""
    return read_good("mindie-2.3")


def filled(good: Good, said: Callable[[str], str], rounds: int) -> dict[str, Exchange]:
    """The exchanges of so many rounds of sampled answers, each saying what `said` makes of its step's name."""
    scenario = next(each for each in good.plan.scenarios if each.id == SAMPLING)
    first = {step.part: good.exchanges[SAMPLING, step.name] for step in scenario.steps if step.round <= 1}
    return {step.name: with_text(first[step.part], said(step.name)) for step in scenario.steps if step.round <= rounds}


def asked(good: Good, exchanges: dict[str, Exchange], *checks: str) -> frozenset[str]:
    """What is still wanted of the next round."""
    scenario = next(each for each in good.plan.scenarios if each.id == SAMPLING)
    return pending([CHECKS[f"effects.{name}"] for name in checks], scenario, exchanges)


def test_nothing_is_sent_again_once_all_is_decided(mindie: Good) -> None:
    differing = filled(mindie, lambda name: f"a story of its own: {name}", 3)
    assert asked(mindie, differing, "temperature-varies") == frozenset()
    assert asked(mindie, filled(mindie, lambda name: name * 9, 2), "temperature-varies") == {"greedy", "hot"}


def test_only_what_is_undecided_is_sent_again(mindie: Good) -> None:
    mixed = filled(mindie, lambda name: "always the same" if name.startswith("seeded") else f"a new story: {name}", 3)
    assert asked(mindie, mixed, "temperature-varies", "seed-repeats") == frozenset()
    assert asked(mindie, mixed, "temperature-varies", "seeds-differ") == {"greedy", "seeded"}


def judged(good: Good, identity: str, exchanges: dict[str, Exchange]) -> Judgement:
    """What a check says of rounds."""
    (assertion,) = good.of(identity)
    (judgement,) = good.judge({(SAMPLING, name): each for name, each in exchanges.items()}, [assertion])
    assert judgement.error is None
    return judgement


def test_a_parameter_that_does_nothing_is_silently_ignored(mindie: Good) -> None:
    same = filled(mindie, lambda _: "always the same story", 8)
    assert judged(mindie, "effects.temperature-varies", same).findings


def test_a_parameter_that_is_refused_is_not_said_to_be_ignored(mindie: Good) -> None:
    same = filled(mindie, lambda _: "always the same story", 8)
    refused = {name: refuse(each) if name.startswith("narrow") else each for name, each in same.items()}
    assert not judged(mindie, "effects.top-p-narrows", refused).applies


def test_a_model_that_is_sure_of_its_answer_says_nothing_about_seeds(mindie: Good) -> None:
    same = filled(mindie, lambda _: "always the same story", 8)
    for identity in ("effects.seeds-differ", "effects.seed-repeats", "effects.unseeded-answers-differ"):
        assert not judged(mindie, identity, same).applies


def test_no_occasion_ends_a_trial(mindie: Good) -> None:
    def never(_: Round, __: Sequence[Round]) -> bool | None:
        """Nothing is shown."""
        raise NotExercised("never")

    found: Check = trial("effects.never", scenario=SAMPLING, parts=("greedy", "hot"), expected="nothing")(never)
    scenario = next(each for each in mindie.plan.scenarios if each.id == SAMPLING)
    assert pending([found], scenario, filled(mindie, str, 1)) == frozenset()
