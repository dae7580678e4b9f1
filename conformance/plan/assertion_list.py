"""List the assertions: which of the checks that a contract requires judge which steps of the scenarios."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from conformance.plan.assertion import Assertion
from openapi.contract.contract import Requirement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from conformance.check import Applicability, Check
    from conformance.scenario import Scenario, Step, Subject
    from openapi.contract.contract import Contract


def list_assertions(
    contract: Contract, scenarios: Collection[Scenario], checks: Mapping[str, Check]
) -> list[Assertion]:
    """Return an assertion for each check that judges a step of the scenarios."""
    demanded = _group_demanded(contract, checks)
    assertions = [assertion for scenario in scenarios for assertion in _assertions(contract, scenario, demanded)]
    assertions += [assertion for scenario in scenarios for assertion in _shared_assertions(scenario, demanded)]
    return assertions


def find_covered(
    rows: Collection[Requirement], contract: Contract, scenarios: Collection[Scenario], checks: Mapping[str, Check]
) -> frozenset[str]:
    """Return the ids of those requirements, about no single parameter, that a step of the scenarios exercises."""
    asked = _group_demanded(contract, {row.id: checks[row.id] for row in rows})
    covered: set[str] = set()
    for scenario in scenarios:
        for on, judging in asked.of_scenario(scenario):
            missing = [(check, row) for _, check, row in judging if row.id not in covered]
            for step in scenario.steps if missing else ():
                if on.applies_to(scenario, step, contract):
                    covered.update(row.id for check, row in missing if not _is_pruned(row, check, scenario, step))
    return frozenset(covered)


def shows(check: Check, scenario: Scenario, contract: Contract) -> bool:
    """Return whether a check judges a step of a scenario."""
    return any(check.on.applies_to(scenario, step, contract) for step in scenario.steps)


def is_expected(row: Requirement, contract: Contract) -> bool:
    """Return whether the server declares the capability that the requirement depends on."""
    return row.capability is None or row.capability in contract.capabilities


_Row: TypeAlias = "tuple[int, Check, Requirement]"


@dataclass(frozen=True, slots=True)
class _Demanded:
    """The checks that a contract requires, each with its requirement and its place in the order of all checks.

    by_condition: grouped by when they apply, because many checks share a condition.
    by_last_step: those of relations, by the last of the steps that each needs.
    by_subject: those that judge the fact that a step tests, by the id of the check.
    """

    by_condition: tuple[tuple[Applicability, list[_Row]], ...]
    by_last_step: Mapping[str, list[tuple[Applicability, list[_Row]]]]
    by_subject: Mapping[str, _Row]

    def of_scenario(self, scenario: Scenario) -> list[tuple[Applicability, list[_Row]]]:
        """Return the checks that may judge a step of a scenario, without those by subject."""
        names = {step.name for step in scenario.steps}
        relations = [
            (on, rows)
            for name in names
            for on, rows in self.by_last_step.get(name, ())
            if names.issuperset(rows[0][1].over)
        ]
        return [*(item for item in self.by_condition if item[0].in_scenario(scenario.id)), *relations]


def _group_demanded(contract: Contract, checks: Mapping[str, Check]) -> _Demanded:
    conditions: dict[int, tuple[Applicability, list[_Row]]] = {}
    by_last_step: dict[str, list[tuple[Applicability, list[_Row]]]] = {}
    by_subject = {}
    for place, check in enumerate(checks.values()):
        requirement = contract.requirements.get(check.id)
        if requirement is None or not is_expected(requirement, contract):
            continue
        row = (place, check, requirement)
        if check.by_subject:
            by_subject[check.id] = row
        elif check.over:
            by_last_step.setdefault(check.over[-1], []).append((check.on, [row]))
        else:
            conditions.setdefault(id(check.on), (check.on, []))[1].append(row)
    return _Demanded(tuple(conditions.values()), by_last_step, by_subject)


def _assertions(contract: Contract, scenario: Scenario, demanded: _Demanded) -> Iterator[Assertion]:
    is_pruned = any(step.pruned for step in scenario.steps)
    conditions = demanded.of_scenario(scenario)
    for step in scenario.steps:
        subject = scenario.subject_of(step)
        judging = [row for on, rows in conditions if on.applies_to(scenario, step, contract) for row in rows]
        own_row = demanded.by_subject.get(subject.check) if subject is not None else None
        if own_row is not None and own_row[1].on.applies_to(scenario, step, contract):
            judging.append(own_row)
        judging.sort(key=itemgetter(0))
        for _, check, row in judging:
            if check.by_subject and subject is not None:
                yield Assertion(check, scenario, step, _own_row(subject), subject.summary)
            elif not (is_pruned and _is_pruned(row, check, scenario, step)):
                yield Assertion(check, scenario, step, row, check.claim)


def _shared_assertions(scenario: Scenario, demanded: _Demanded) -> Iterator[Assertion]:
    """Yield an assertion for each further fact that the request of a scenario shows."""
    for subject in scenario.also:
        if subject.check in demanded.by_subject:
            _, check, _ = demanded.by_subject[subject.check]
            about = replace(scenario, subject=subject, also=(), shared=True)
            yield Assertion(check, about, scenario.steps[0], _own_row(subject), subject.summary)


def _own_row(subject: Subject) -> Requirement:
    return Requirement(subject.requirement, subject.keyword, subject.source, subject.interpretation)


def _is_pruned(row: Requirement, check: Check, scenario: Scenario, step: Step) -> bool:
    """Return whether the parameter that a requirement is about was left out of the requests that would show it."""
    if row.parameter is None:
        return False
    names = check.steps(scenario, step, ())
    pruned = {name for other in scenario.steps if other.name in names for name in other.pruned}
    return row.parameter in pruned
