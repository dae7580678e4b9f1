"""Judgement: recorded exchanges in, findings out. Pure, so that a run can be judged again offline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.check import Context, NoOccasion, NotObserved

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.check import Finding
    from conformance.exchange import Exchange
    from conformance.plan.plan import Assertion
    from openapi.contract.contract import Contract
    from openapi.description.validation import Validator

MOST_FINDINGS = 20  # of one judge on one exchange; a stream of garbage must not fill the disk


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one assertion came to. At most one of `unobserved` and `error` is set, and then there are no findings.

    `unobserved` says why the exchange does not show what the check is about; `error` is a defect of the check.
    `applies` is False where the condition of the requirement did not hold; `unobserved` then says which.
    """

    assertion: Assertion
    exchanges: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    unobserved: str | None = None
    error: str | None = None
    applies: bool = True


def judge(
    assertions: Iterable[Assertion],
    recorded: Mapping[tuple[str, str], Exchange],
    contract: Contract,
    validator: Validator,
    model: str,
    missing: Mapping[tuple[str, str], NotObserved],
) -> tuple[Judgement, ...]:
    """Judges every assertion. Exchanges are found by (scenario, step); `missing` says why one was not made."""
    return tuple(_one(assertion, recorded, contract, validator, model, missing) for assertion in assertions)


def _one(
    assertion: Assertion,
    recorded: Mapping[tuple[str, str], Exchange],
    contract: Contract,
    validator: Validator,
    model: str,
    missing: Mapping[tuple[str, str], NotObserved],
) -> Judgement:
    scenario, check = assertion.scenario, assertion.check
    made = {step.name for step in scenario.steps if (scenario.id, step.name) in recorded}
    steps = check.steps(scenario, assertion.step, made)
    absent = [name for name in steps if (scenario.id, name) not in recorded]
    if absent:
        return _unobserved(assertion, (), missing.get((scenario.id, absent[0]), NotObserved("it was not sent")))
    exchanges = {name: recorded[scenario.id, name] for name in steps}
    identities = tuple(exchange.id for exchange in exchanges.values())
    first = {step.name for step in scenario.steps if step.round <= 1}
    single = not (check.over or check.trial)  # what looks at several does with fewer rounds
    needed = [name for name in steps if single or name in first]
    for exchange in (exchanges[name] for name in needed):
        if lack := check.on.lacks(exchange):
            return Judgement(assertion, identities, unobserved=lack)
    context = Context(contract, validator, model, scenario, assertion.step)
    findings: list[Finding] = []
    try:
        for finding in check.judge(exchanges if check.over or check.trial else exchanges[steps[0]], context):
            findings.append(finding)
            if len(findings) >= MOST_FINDINGS:
                break
    except NotObserved as reason:
        return _unobserved(assertion, identities, reason)
    except Exception as error:  # a judge must never be mistaken for the server's failure
        return Judgement(assertion, identities, error=f"{check.id}: {type(error).__name__}: {error}")
    return Judgement(assertion, identities, tuple(findings))


def _unobserved(assertion: Assertion, exchanges: tuple[str, ...], reason: NotObserved) -> Judgement:
    return Judgement(assertion, exchanges, unobserved=str(reason), applies=not isinstance(reason, NoOccasion))
