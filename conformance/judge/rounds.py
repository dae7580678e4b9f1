"""Repeat the requests of a trial until its question is decided, at most as often as the scenario allows.

Before each round the run calls `pending` for the parts that it still has to send. The check decides over the same
exchanges with the same function, so a recorded run can be judged again without sending anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Applicability, Check, Context, Finding, NotExercised, NotObserved, Trial, parse_claim
from conformance.judge.applicability import why_unanswered
from conformance.statistics import CAREFUL, SequentialTest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from conformance.check import Round, RoundPredicate
    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

DECIDED = "earlier rounds had already decided every trial that needs it"
"""Why a step was not sent: no trial needed another round of it."""


def trial(
    identity: str, *, parts: tuple[str, ...], scenario: str, test: SequentialTest = CAREFUL, expected: str
) -> Callable[[RoundPredicate], Check]:
    """Make a check of a whole scenario from a predicate over one round and the earlier ones.

    parts: the steps of a round that the predicate needs.
    expected: what most rounds must show, for the finding.

    The predicate returns None to ignore a round, and raises NotExercised to end the trial.
    """

    def make(predicate: RoundPredicate) -> Check:
        claim, help_text = parse_claim(identity, predicate)
        own_trial = Trial(parts, predicate, test)

        def applies_to(candidate: Scenario, step: Step, _: Contract) -> bool:
            first_round = [step for step in candidate.steps if step.part in parts and step.round <= 1]
            return (
                candidate.id == scenario
                and {step.part for step in first_round} == set(parts)
                and step is first_round[-1]
            )

        def judge(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
            results = list(_results(own_trial, context.scenario, exchanges))
            if not results:
                _require_answers_or_refusals(exchanges)
                raise NotExercised("no round shows what the check is about")
            decision = test.decide(results)
            if decision == "open":
                raise NotExercised(f"undecided after {len(results)} rounds")
            if decision == "ignored":
                yield Finding("/rounds", f"{expected}, in most rounds", f"in {sum(results)} of {len(results)} rounds")

        return Check(identity, claim, help_text, Applicability(applies_to), judge, trial=own_trial)

    return make


def _require_answers_or_refusals(exchanges: Mapping[str, Exchange]) -> None:
    """Raise NotObserved if a request failed for another reason than a refusal.

    A server that refuses a parameter does not ignore it. Other checks decide whether it may refuse it.
    """
    for exchange in exchanges.values():
        refused = exchange.status is not None and 400 <= exchange.status < 500
        if not refused and (reason := why_unanswered(exchange)):
            raise NotObserved(reason)


def pending(checks: Collection[Check], scenario: Scenario, exchanges: Mapping[str, Exchange]) -> frozenset[str]:
    """Return the parts of the next round that some trial still needs.

    exchanges: the exchanges made so far, by step.
    """
    needed: set[str] = set()
    for check in checks:
        if check.trial is None:
            continue
        try:
            results = list(_results(check.trial, scenario, exchanges))
        except NotExercised:
            continue
        if check.trial.test.decide(results) == "open":
            needed.update(check.trial.parts)
    return frozenset(needed)


def _results(trial_: Trial, scenario: Scenario, exchanges: Mapping[str, Exchange]) -> Iterator[bool]:
    """Yield the result of every round that was answered and is not ignored."""
    earlier: list[Round] = []
    for number in range(1, scenario.rounds + 1):
        steps = [step for step in scenario.steps if step.part in trial_.parts and step.round in (0, number)]
        current = {step.part: exchanges[step.name] for step in steps if step.name in exchanges}
        if len(current) < len(trial_.parts) or any(why_unanswered(exchange) for exchange in current.values()):
            continue
        result = trial_.predicate(current, earlier)
        earlier.append(current)
        if result is not None:
            yield result
