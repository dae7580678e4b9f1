"""Test which requests a trial repeats, and when it ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from conformance.check import NotExercised
from conformance.judge.check_registry import gather_checks
from conformance.judge.checks.effects import penalties
from conformance.judge.rounds import pending, trial
from conformance.proof.editing.answers import say
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
    """Return the recorded run of MindIE 2.3."""
    return read_good("mindie-2.3")


def rounds_of(good: Good, write: Callable[[str], str], rounds: int) -> dict[str, Exchange]:
    """Return the exchanges of some rounds of sampled answers, with the text that `write` returns for the name of the
    step.
    """
    scenario = next(scenario for scenario in good.plan.scenarios if scenario.id == SAMPLING)
    first = {step.part: good.exchanges[SAMPLING, step.name] for step in scenario.steps if step.round <= 1}
    return {step.name: say(first[step.part], write(step.name)) for step in scenario.steps if step.round <= rounds}


def needed(good: Good, exchanges: dict[str, Exchange], *checks: str) -> frozenset[str]:
    """Return the parts that the trials need in the next round."""
    scenario = next(scenario for scenario in good.plan.scenarios if scenario.id == SAMPLING)
    return pending([(CHECKS[f"effects.{name}"], scenario.steps[0]) for name in checks], scenario, exchanges)


def test_a_decided_trial_needs_no_further_round(mindie: Good) -> None:
    differing = rounds_of(mindie, lambda name: f"a story of its own: {name}", 3)
    assert needed(mindie, differing, "temperature-varies") == frozenset()
    assert needed(mindie, rounds_of(mindie, lambda name: name * 9, 2), "temperature-varies") == {"greedy", "hot"}


def test_only_the_parts_of_undecided_trials_are_needed(mindie: Good) -> None:
    mixed = rounds_of(
        mindie, lambda name: "always the same" if name.startswith("seeded") else f"a new story: {name}", 3
    )
    assert needed(mindie, mixed, "temperature-varies", "seed-repeats") == frozenset()
    assert needed(mindie, mixed, "temperature-varies", "seeds-differ") == {"greedy", "seeded"}


def judged(good: Good, identity: str, exchanges: dict[str, Exchange]) -> Judgement:
    """Judge the exchanges of some rounds with one check."""
    (assertion,) = good.of(identity)
    (judgement,) = good.judge({(SAMPLING, name): exchange for name, exchange in exchanges.items()}, [assertion])
    assert judgement.error is None
    return judgement


def test_a_parameter_without_an_effect_is_reported(mindie: Good) -> None:
    same = rounds_of(mindie, lambda _: "always the same story", 8)
    assert judged(mindie, "effects.temperature-varies", same).findings


def lost_in(good: Good, part: str) -> dict[str, Exchange]:
    """Return eight rounds in which top_p narrows every answer, except in one of the parts."""
    return rounds_of(good, lambda name: f"a story of its own: {name}" if name.startswith(f"{part}.") else "a story", 8)


@pytest.mark.parametrize("part", ["narrow", "narrow-streamed"])
def test_an_effect_that_one_form_lacks_is_reported(mindie: Good, part: str) -> None:
    assert judged(mindie, "effects.top-p-narrows", lost_in(mindie, part)).findings
    assert not judged(mindie, "effects.top-p-narrows", lost_in(mindie, "hot")).findings


def test_while_a_trial_is_undecided_each_form_of_its_parts_is_needed(mindie: Good) -> None:
    undecided = {name: item for name, item in lost_in(mindie, "narrow-streamed").items() if name.endswith((".1", "dy"))}
    assert needed(mindie, undecided, "top-p-narrows") == {"greedy", "narrow", "narrow-streamed"}


def test_a_refused_parameter_is_not_reported_as_ignored(mindie: Good) -> None:
    same = rounds_of(mindie, lambda _: "always the same story", 8)
    refused = {name: refuse(exchange) if name.startswith("narrow") else exchange for name, exchange in same.items()}
    assert not judged(mindie, "effects.top-p-narrows", refused).applies


def test_a_model_that_always_gives_the_same_answer_shows_nothing_about_seeds(mindie: Good) -> None:
    same = rounds_of(mindie, lambda _: "always the same story", 8)
    for identity in ("effects.seeds-differ", "effects.seed-repeats", "effects.unseeded-answers-differ"):
        assert not judged(mindie, identity, same).applies


def test_not_exercised_ends_a_trial(mindie: Good) -> None:
    def never(_: Round, __: Sequence[Round]) -> bool | None:
        """The round shows nothing."""
        raise NotExercised("never")

    check: Check = trial("effects.never", scenario=SAMPLING, parts=("greedy", "hot"), expected="nothing")(never)
    scenario = next(scenario for scenario in mindie.plan.scenarios if scenario.id == SAMPLING)
    assert pending([(check, scenario.steps[0])], scenario, rounds_of(mindie, str, 1)) == frozenset()


@pytest.mark.parametrize(
    ("base", "present", "result"),
    [
        ("Once upon a time silver get cord task", "Once upon a time silver get cord task", None),
        ("Once upon a time silver get cord task", "Once upon a time silver get", True),
        ("Anna came, and Anna went home", "Anna came, and Anna went home", False),
        ("你好世界 你好 你好世界 你好", "你好世界 你好 你好世界 你好", False),
        ("abcdefghij" * 10, "abcdefghij" * 10, False),
    ],
)
def test_an_equal_text_shows_that_a_penalty_is_ignored_only_if_it_has_something_to_penalise(
    base: str, present: str, result: bool | None
) -> None:
    texts = {"base": base, "present": present}
    round_ = cast("Round", {part: SimpleNamespace(content=lambda text=text: text) for part, text in texts.items()})
    assert penalties._changes(round_, "present") is result
