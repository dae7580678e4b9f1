"""Make a plan: which scenarios to send, and which checks judge which of their steps.

An assertion is one check on one step. Several assertions can belong to one requirement, which is one row of the
results: for example a check that applies to ten steps, or the limit of a parameter. This module does no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.plan.assertion_list import is_expected, list_assertions
from conformance.plan.selection import add_presupposed, select_requests
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from conformance.check import Check
    from conformance.plan.assertion import Assertion
    from conformance.scenario import Scenario
    from openapi.contract.contract import Capability, Contract, Requirement


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be sent and judged.

    contract: the contract that the server is judged by, narrowed to the capabilities that it declares.
    uncovered: requirements of the contract that no scenario exercises.
    undeclared: capabilities of the dialect that the server does not declare.
    inapplicable: requirements without a capability of their own that only requests for an undeclared capability
        exercise.
    left_out: requirements that only requests exercise which the contract does not allow, each with the reason.
    unjudged: capabilities that the server declares and that no requirement judges.
    partial: whether the user left out some of the assertions.
    selected: the ids of the requirements that the user selected; None: all. Others are judged too, because what was
        selected presupposes them.
    denials: the refusals by which the server denies capabilities that its document has.
    """

    contract: Contract
    scenarios: tuple[Scenario, ...]
    assertions: tuple[Assertion, ...]
    uncovered: tuple[Requirement, ...]
    undeclared: tuple[Capability, ...] = ()
    inapplicable: tuple[Requirement, ...] = ()
    left_out: tuple[tuple[Requirement, str], ...] = ()
    unjudged: tuple[Capability, ...] = ()
    partial: bool = False
    selected: frozenset[str] | None = None
    denials: Mapping[str, str] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        """The maximum number of requests; rounds of trials that are decided early are not sent."""
        return sum(len(scenario.steps) for scenario in self.scenarios)

    @property
    def tokens(self) -> int:
        """The maximum number of completion tokens in the answers."""
        return sum(step.tokens for scenario in self.scenarios for step in scenario.steps)


def make_plan(
    contract: Contract,
    scenarios: Collection[Scenario],
    checks: Mapping[str, Check],
    only: Collection[str] = (),
    undeclared: tuple[Capability, ...] = (),
    topics: Collection[str] = (),
    listed: Sequence[Assertion] | None = None,
    *,
    thorough: bool = False,
) -> Plan:
    """Make the plan for a contract that is narrowed to the capabilities that the server declares.

    `only` keeps the assertions whose check, requirement or scenario matches a glob, `topics` those whose check belongs
    to one of the topics. Of these, few requests are sent that show each check under each condition (see `selection`),
    or all if `thorough`; whether they are answered as asked is always judged. `listed` are all assertions if they are
    known, and may have more than `list_assertions` returns. Raises UsageError if a pattern of `only` matches nothing.
    """
    every = list_assertions(contract, scenarios, checks) if listed is None else listed
    assertions = every
    if topics:
        assertions = [assertion for assertion in assertions if assertion.check.topic in topics]
    if only:
        require_matches(only, every, contract, topics)
        assertions = _select_named(only, assertions)
    reached = {assertion.check.id for assertion in assertions}
    uncovered = (
        ()
        if only or topics
        else tuple(
            row
            for key, row in contract.requirements.items()
            if key in checks and key not in reached and not checks[key].by_subject and is_expected(row, contract)
        )
    )
    if (only or topics) and not thorough:
        kept, shown = select_requests(assertions, contract, lambda assertion: _is_named(only, assertion.scenario))
    else:
        used = {assertion.scenario.id for assertion in assertions}
        kept, shown = tuple(scenario for scenario in scenarios if scenario.id in used), tuple(assertions)
    partial = bool(only or topics)
    selected = None
    if partial:
        selected = frozenset(assertion.requirement.id for assertion in shown)
        shown = add_presupposed(shown, every, kept)
    return Plan(contract, kept, shown, uncovered, () if partial else undeclared, partial=partial, selected=selected)


def find_unmatched(
    only: Collection[str], assertions: Collection[Assertion], topics: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the patterns that match none of the assertions, or none of those in the topics, if any."""
    if topics:
        assertions = [assertion for assertion in assertions if assertion.check.topic in topics]
    names = {name for assertion in assertions for name in _names(assertion)}
    return tuple(pattern for pattern in only if not any(fnmatchcase(name, pattern) for name in names))


def require_matches(
    only: Collection[str], assertions: Collection[Assertion], contract: Contract, topics: Collection[str] = ()
) -> None:
    """Raise UsageError for a pattern that matches none of the assertions, or none of those in the topics, if any."""
    for pattern in find_unmatched(only, assertions, topics):
        matched = {assertion.check.topic for assertion in _select_named([pattern], assertions)}
        if matched:
            raise UsageError(
                f"--only {pattern!r} matches nothing in --topic {', '.join(topics)}, only in "
                f"{', '.join(sorted(matched))}: change or remove one of the options"
            )
        known = {name for assertion in assertions for name in _names(assertion)}
        raise UsageError(
            f"--only {pattern!r} matches no check, requirement or scenario of {contract.name}; "
            f"`chatproof checks list` and --dry-run show them{suggest(pattern, known)}"
        )


def require_known_topics(topics: Collection[str], checks: Mapping[str, Check]) -> None:
    """Raise UsageError for a topic without checks."""
    known = sorted({check.topic for check in checks.values()})
    for topic in topics:
        if topic not in known:
            raise UsageError(f"unknown --topic {topic!r}: expected one of {', '.join(known)}{suggest(topic, known)}")


def _is_named(only: Collection[str], scenario: Scenario) -> bool:
    """Return whether the user selected a scenario by its own name."""
    return any(fnmatchcase(scenario.id, pattern) for pattern in only)


def _select_named(only: Collection[str], assertions: Collection[Assertion]) -> list[Assertion]:
    """Return the assertions of which a name matches a pattern. Each name is matched once: many have the same."""
    names = {name for assertion in assertions for name in _names(assertion)}
    named = {name for name in names if any(fnmatchcase(name, pattern) for pattern in only)}
    return [assertion for assertion in assertions if not named.isdisjoint(_names(assertion))]


def _names(assertion: Assertion) -> tuple[str, str, str]:
    return assertion.check.id, assertion.requirement.id, assertion.scenario.id
