"""Repeat the requests of a trial until its question is decided, at most as often as the scenario allows.

Before each round the run calls `pending` for the parts that it still has to send. The check decides over the same
exchanges with the same function, so a recorded run can be judged again without sending anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Applicability, Check, Context, Finding, NotExercised, NotObserved, Trial, parse_claim
from conformance.judge.applicability import why_unanswered
from conformance.statistics import CAREFUL, SequentialTest
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from conformance.check import Round, RoundPredicate
    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

DECIDED = "earlier rounds had already decided every trial that needs it"
"""Why a step was not sent: no trial needed another round of it."""
ACCEPTED = "the value was accepted together with others"
"""Why a request with one value was not sent: another one showed that the server accepts it."""


def trial(
    identity: str,
    *,
    parts: tuple[str, ...],
    scenario: str | None,
    test: SequentialTest = CAREFUL,
    expected: str,
) -> Callable[[RoundPredicate], Check]:
    """Make a check of a whole scenario from a predicate over one round and the earlier ones.

    parts: the steps of a round that the predicate needs; of a check by subject, their roles.
    scenario: its id; None for a check by subject, which judges each step that has a subject of this check.
    expected: what most rounds must show, for the finding.

    The predicate returns None to ignore a round, and raises NotExercised to end the trial.
    """

    def make(predicate: RoundPredicate) -> Check:
        claim, help_text = parse_claim(identity, predicate)
        own_trial = Trial(parts, predicate, test)

        def applies_to(candidate: Scenario, step: Step, _: Contract) -> bool:
            if scenario is None:
                return step.subject is not None and step.subject.check == identity and step.round <= 1
            if candidate.id != scenario:
                return False
            first_round = [step for step in candidate.steps if step.part in parts and step.round <= 1]
            return {step.part for step in first_round} == set(parts) and step is first_round[-1]

        def judge(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
            results = list(_results(own_trial, context.scenario, context.step, exchanges))
            if not results:
                _require_answers_or_refusals(exchanges)
                raise NotExercised("no round shows what the check is about")
            decision = test.decide(results)
            if decision == "open":
                raise NotExercised(f"undecided after {format_quantity(len(results), 'round')}")
            if decision == "ignored":
                yield Finding("/rounds", f"{expected}, in most rounds", f"in {sum(results)} of {len(results)} rounds")

        on = Applicability(applies_to, in_scenario=lambda identity: scenario is None or identity == scenario)
        return Check(identity, claim, help_text, on, judge, by_subject=scenario is None, trial=own_trial)

    return make


def _require_answers_or_refusals(exchanges: Mapping[str, Exchange]) -> None:
    """Raise NotObserved if a request failed for another reason than a refusal.

    A server that refuses a parameter does not ignore it. Other checks decide whether it may refuse it.
    """
    for exchange in exchanges.values():
        refused = exchange.status is not None and 400 <= exchange.status < 500
        if not refused and (reason := why_unanswered(exchange)):
            raise NotObserved(reason)


def pending(
    judged: Collection[tuple[Check, Step]], scenario: Scenario, exchanges: Mapping[str, Exchange]
) -> frozenset[str]:
    """Return the parts of the next round that some trial still needs.

    judged: the checks with the steps that they judge.
    exchanges: the exchanges made so far, by step.
    """
    needed: set[str] = set()
    for check, step in judged:
        if check.trial is None:
            continue
        try:
            results = list(_results(check.trial, scenario, step, exchanges))
        except NotExercised:
            continue
        if check.trial.test.decide(results) == "open":
            parts = check.trial.parts_of(step)
            needed.update(part for form in _forms(parts, scenario) for part in form.values())
    return frozenset(needed)


def _results(trial_: Trial, scenario: Scenario, step: Step, exchanges: Mapping[str, Exchange]) -> Iterator[bool]:
    """Yield the result of every round that was answered and is not ignored.

    A part that is also streamed is judged in both forms: a round shows an effect if each of its forms does.
    """
    earlier: list[Round] = []
    plain, *streamed = _forms(trial_.parts_of(step), scenario)
    names = {(other.part, other.round): other.name for other in scenario.steps}

    def find_round(parts: Mapping[str, str], number: int) -> Round | None:
        steps = {role: names.get((part, number), names.get((part, 0), "")) for role, part in parts.items()}
        found = {role: exchanges[name] for role, name in steps.items() if name in exchanges}
        return None if len(found) < len(parts) or any(map(why_unanswered, found.values())) else found

    for number in range(1, scenario.rounds + 1):
        if (current := find_round(plain, number)) is None:
            continue
        rounds = [current, *filter(None, (find_round(parts, number) for parts in streamed))]
        shown = [result for round_ in rounds if (result := trial_.predicate(round_, earlier)) is not None]
        earlier.append(current)
        if shown:
            yield all(shown)


def _forms(parts: Mapping[str, str], scenario: Scenario) -> list[dict[str, str]]:
    """Return the part of each role, and the same with a part that repeats one of them as a stream in its place."""
    part_of = {step.name: step.part for step in scenario.steps}
    twins = {part_of[step.streams_as]: step.part for step in scenario.steps if step.streams_as in part_of}
    streamed = ({**parts, role: twins[part]} for role, part in parts.items() if part in twins)
    return [dict(parts), *streamed]
