"""Rounds: a trial repeats its requests until its question is decided, at most as often as the scenario allows. Pure.

The run asks `pending` before each round which parts are still needed; the judge decides over the same exchanges by the
same function, so that a recorded run can be judged again without sending anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Check, Context, Finding, NoOccasion, NotObserved, Occasion, Trial, said
from conformance.judge.applicability import unsuccessful
from conformance.statistics import CAREFUL, SequentialTest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from conformance.check import Mark, Round
    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

DECIDED = "earlier rounds had decided what it was for"
"""The reason of a step that was not sent, because no trial needed another round of it."""


def trial(
    identity: str, *, parts: tuple[str, ...], scenario: str, test: SequentialTest = CAREFUL, expected: str
) -> Callable[[Mark], Check]:
    """Makes a function from one round, and those before it, to a mark a check over a whole scenario.

    `parts` are the steps of a round that it looks at; `expected` says in words what most rounds must show. A mark of
    None leaves the round aside; NoOccasion ends the trial.
    """

    def make(mark: Mark) -> Check:
        claim, help_text = said(identity, mark)
        found = Trial(parts, mark, test)

        def fits(scene: Scenario, step: Step, _: Contract) -> bool:
            own = [each for each in scene.steps if each.part in parts and each.round <= 1]
            return scene.id == scenario and {each.part for each in own} == set(parts) and step is own[-1]

        def judge(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
            marks = list(_marks(found, context.scenario, exchanges))
            if not marks:
                _look_for_refusals(exchanges)
                raise NoOccasion("no round shows what the check is about")
            decision = test.decide(marks)
            if decision == "open":
                raise NoOccasion(f"undecided after {len(marks)} rounds")
            if decision == "ignored":
                yield Finding("/rounds", f"{expected}, in most rounds", f"in {sum(marks)} of {len(marks)} rounds")

        return Check(identity, claim, help_text, Occasion(fits), judge, trial=found)

    return make


def _look_for_refusals(exchanges: Mapping[str, Exchange]) -> None:
    """A parameter that is refused is not ignored; whether it may be refused is judged elsewhere."""
    for exchange in exchanges.values():
        refused = exchange.status is not None and 400 <= exchange.status < 500
        if not refused and (lack := unsuccessful(exchange)):
            raise NotObserved(lack)


def pending(checks: Collection[Check], scenario: Scenario, exchanges: Mapping[str, Exchange]) -> frozenset[str]:
    """The parts of the next round that some trial still needs. `exchanges` are those made so far, by step."""
    wanted: set[str] = set()
    for check in checks:
        if check.trial is None:
            continue
        try:
            marks = list(_marks(check.trial, scenario, exchanges))
        except NoOccasion:
            continue
        if check.trial.test.decide(marks) == "open":
            wanted.update(check.trial.parts)
    return frozenset(wanted)


def _marks(trial_: Trial, scenario: Scenario, exchanges: Mapping[str, Exchange]) -> Iterator[bool]:
    earlier: list[Round] = []
    for number in range(1, scenario.rounds + 1):
        steps = [step for step in scenario.steps if step.part in trial_.parts and step.round in (0, number)]
        current = {step.part: exchanges[step.name] for step in steps if step.name in exchanges}
        if len(current) < len(trial_.parts) or any(unsuccessful(each) for each in current.values()):
            continue
        mark = trial_.mark(current, earlier)
        earlier.append(current)
        if mark is not None:
            yield mark
