"""Plan: which checks judge which steps of which scenarios, and what it will cost at most. Pure.

An Assertion is one cell of that table. Several assertions stand for one requirement: a check over ten exchanges is
one row of the results, and a bound of a parameter is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from openapi.contract.contract import Requirement
from openapi.did_you_mean import meant

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from conformance.check import Check
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Capability, Contract


@dataclass(frozen=True, slots=True)
class Assertion:
    """One check on one step (a relation: on the steps that end with it), for one requirement."""

    check: Check
    scenario: Scenario
    step: Step
    requirement: Requirement
    summary: str

    @property
    def id(self) -> str:
        """Name of the pytest item: scenario, step unless it is the only one, check."""
        step = "" if len(self.scenario.steps) == 1 else f"/{self.step.name}"
        return f"{self.scenario.id}{step}::{self.check.id}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be sent and judged. `uncovered`: requirements of the dialect that no scenario reaches."""

    scenarios: tuple[Scenario, ...]
    assertions: tuple[Assertion, ...]
    uncovered: tuple[Requirement, ...]
    undeclared: tuple[Capability, ...] = ()

    @property
    def requests(self) -> int:
        """The most requests that the plan sends; rounds that are decided early are not sent."""
        return sum(len(scenario.steps) for scenario in self.scenarios)

    @property
    def tokens(self) -> int:
        """Most completion tokens that the answers can hold."""
        return sum(step.tokens for scenario in self.scenarios for step in scenario.steps)


def make(
    contract: Contract,
    scenarios: Collection[Scenario],
    checks: Mapping[str, Check],
    only: Collection[str] = (),
    undeclared: tuple[Capability, ...] = (),
    topics: Collection[str] = (),
    more: Collection[Assertion] = (),
) -> Plan:
    """Pairs scenarios and checks of a contract that is narrowed to what the server declares.

    `only` keeps assertions whose check, requirement or scenario matches a glob, `topics` those whose check is of such
    a topic. `more` are assertions of checks that no dialect has a row for. Raises UsageError when a pattern or a topic
    matches nothing.
    """
    assertions = [found for scenario in scenarios for found in _assertions(contract, scenario, checks)]
    assertions += more
    if topics:
        assertions = [found for found in assertions if found.check.topic in topics]
    if only:
        refuse_idle(only, assertions, contract)
        assertions = [found for found in assertions if any(_matches(pattern, found) for pattern in only)]
    used = {assertion.scenario.id for assertion in assertions}
    reached = {assertion.check.id for assertion in assertions}
    uncovered = (
        ()
        if only or topics
        else tuple(
            row
            for key, row in contract.requirements.items()
            if key in checks and key not in reached and not checks[key].by_subject and _expected(row, contract)
        )
    )
    kept = tuple(found for found in scenarios if found.id in used)
    return Plan(kept, tuple(assertions), uncovered, () if only or topics else undeclared)


def refuse_idle(only: Collection[str], assertions: Collection[Assertion], contract: Contract) -> None:
    """Raises UsageError for a pattern that matches none of the assertions."""
    for pattern in only:
        if not any(_matches(pattern, assertion) for assertion in assertions):
            known = {name for assertion in assertions for name in _names(assertion)}
            raise UsageError(
                f"--only {pattern!r} matches no check, requirement or scenario of {contract.name}; "
                f"`chatproof checks list` and --dry-run show them{meant(pattern, known)}"
            )


def refuse_unknown(topics: Collection[str], checks: Mapping[str, Check]) -> None:
    """Raises UsageError for a topic that no check is of."""
    known = sorted({check.topic for check in checks.values()})
    for topic in topics:
        if topic not in known:
            raise UsageError(f"--topic {topic!r} is none; there are: {', '.join(known)}{meant(topic, known)}")


def _expected(row: Requirement, contract: Contract) -> bool:
    """Whether the server declares the capability that the requirement is about."""
    return row.capability is None or row.capability in contract.capabilities


def _assertions(contract: Contract, scenario: Scenario, checks: Mapping[str, Check]) -> list[Assertion]:
    found = []
    for step in scenario.steps:
        for check in checks.values():
            row = contract.requirements.get(check.id)
            if row is None or not _expected(row, contract) or not check.on.fits(scenario, step, contract):
                continue
            if not check.by_subject:
                found.append(Assertion(check, scenario, step, row, check.claim))
            elif scenario.subject is not None and scenario.subject.check == check.id:
                subject = scenario.subject
                own = Requirement(subject.requirement, subject.keyword, subject.source, subject.interpretation)
                found.append(Assertion(check, scenario, step, own, subject.summary))
    return found


def _matches(pattern: str, assertion: Assertion) -> bool:
    return any(fnmatchcase(name, pattern) for name in _names(assertion))


def _names(assertion: Assertion) -> tuple[str, str, str]:
    return assertion.check.id, assertion.requirement.id, assertion.scenario.id
