"""Prove the own checks of a dialect: each must report its counterexample, the mutant of a recorded exchange."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from conformance.judge.check_registry import gather_checks
from conformance.judge.judgement import judge
from conformance.own_file import describe, locate
from conformance.proof.mutants.mutant import gather_own_mutants
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.proof.mutants.mutant import Mutant
    from conformance.run.session.conclusion import RunOutcome

MOST: Final = 3
"""How many exchanges of a check are changed."""


def list_unproven(outcome: RunOutcome) -> Iterator[str]:
    """Yield a line for each own check that does not report its mutant, has none, or was not exercised by the run.

    outcome: of a run against a correct server.

    Raises UsageError for a file with mutants that cannot be imported.
    """
    contract = outcome.prepared.contract
    own = {name: check for name, check in gather_checks(contract).items() if check.origin}
    mutants = gather_own_mutants(contract.checks)
    for name, check in own.items():
        if name not in contract.requirements:
            yield f"{check.origin}: {name} is not a requirement: add requirements/{name} with a keyword and a source"
        elif name not in mutants:
            yield f"{check.origin}: {name} has no counterexample: add a function with @mutant({name!r})"
        elif (problem := _find_problem(outcome, name, mutants[name])) is not None:
            yield f"{check.origin}: {name} {problem}"
    for name in sorted(set(mutants) - set(own)):
        yield f"the mutant of {name}: no own check has that id"


def _find_problem(outcome: RunOutcome, check: str, mutant: Mutant) -> str | None:
    """Return why a check is not proven; None if it reports its mutant on some exchanges of the run."""
    passed = [
        judgement
        for judgement in outcome.judgements
        if judgement.assertion.check.id == check
        and judgement.unobserved is None
        and judgement.error is None
        and not judgement.findings
        and fnmatchcase(judgement.assertion.scenario.id, mutant.scenario)
    ]
    if not passed:
        return "is not exercised: no request of the run shows what it is about; add a scenario"
    for judgement in passed[:MOST]:
        try:
            changed = _change(outcome, judgement, mutant)
        except Exception as error:
            where = locate(error, judgement.assertion.check.origin)
            return f"has a counterexample that raises {describe(error)} ({where})"
        if not changed.findings:
            return f"does not report its counterexample: {mutant.defect} ({judgement.assertion.id}){_reason(changed)}"
    return None


def _change(outcome: RunOutcome, judgement: Judgement, mutant: Mutant) -> Judgement:
    """Judge an assertion again with its exchanges changed by a mutant."""
    assertion, recorded = judgement.assertion, dict(outcome.record.exchanges)
    pattern = assertion.step.name if mutant.steps is None else mutant.steps
    for (scenario, step), exchange in outcome.record.exchanges.items():
        if scenario == assertion.scenario.id and fnmatchcase(step, pattern):
            recorded[scenario, step] = _check_changed(mutant.change(exchange), exchange)
    contract = outcome.prepared.plan.contract
    return judge([assertion], recorded, contract, Validator(contract), outcome.prepared.model, {})[0]


def _check_changed(changed: object, exchange: Exchange) -> Exchange:
    if not isinstance(changed, type(exchange)):
        raise TypeError(f"it returned {type(changed).__name__} in place of an Exchange")
    return changed


def _reason(judgement: Judgement) -> str:
    reason = judgement.error or judgement.unobserved
    return f": {reason}" if reason else ""
