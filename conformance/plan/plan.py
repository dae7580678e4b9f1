"""Make a plan: which scenarios to send, and which checks judge which of their steps.

An assertion is one check on one step. Several assertions can belong to one requirement, which is one row of the
results: for example a check that applies to ten steps, or the limit of a parameter. This module does no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from conformance.errors import UsageError
from conformance.plan.assertion import Assertion
from conformance.plan.selection import add_presupposed, select_requests
from openapi.contract.contract import Requirement
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from conformance.check import Applicability, Check
    from conformance.scenario import Scenario, Step, Subject
    from openapi.contract.contract import Capability, Contract


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
            if key in checks and key not in reached and not checks[key].by_subject and _expected(row, contract)
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


def list_assertions(
    contract: Contract, scenarios: Collection[Scenario], checks: Mapping[str, Check]
) -> list[Assertion]:
    """Return an assertion for each check that judges a step of the scenarios."""
    demanded = _group_demanded(contract, checks)
    assertions = [assertion for scenario in scenarios for assertion in _assertions(contract, scenario, demanded)]
    assertions += [assertion for scenario in scenarios for assertion in _shared_assertions(scenario, demanded)]
    return assertions


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


def _expected(row: Requirement, contract: Contract) -> bool:
    """Return whether the server declares the capability that the requirement depends on."""
    return row.capability is None or row.capability in contract.capabilities


_Row: TypeAlias = "tuple[int, Check, Requirement]"


@dataclass(frozen=True, slots=True)
class _Demanded:
    """The checks that a contract requires, each with its requirement and its place in the order of all checks.

    by_condition: grouped by when they apply, because many checks share a condition.
    by_subject: those that judge the fact that a step tests, by the id of the check.
    """

    by_condition: tuple[tuple[Applicability, list[_Row]], ...]
    by_subject: Mapping[str, _Row]


def _group_demanded(contract: Contract, checks: Mapping[str, Check]) -> _Demanded:
    conditions: dict[int, tuple[Applicability, list[_Row]]] = {}
    by_subject = {}
    for place, check in enumerate(checks.values()):
        requirement = contract.requirements.get(check.id)
        if requirement is None or not _expected(requirement, contract):
            continue
        row = (place, check, requirement)
        if check.by_subject:
            by_subject[check.id] = row
        else:
            conditions.setdefault(id(check.on), (check.on, []))[1].append(row)
    return _Demanded(tuple(conditions.values()), by_subject)


def find_covered(
    rows: Collection[Requirement], contract: Contract, scenarios: Collection[Scenario], checks: Mapping[str, Check]
) -> frozenset[str]:
    """Return the ids of those requirements, about no single parameter, that a step of the scenarios exercises."""
    asked = _group_demanded(contract, {row.id: checks[row.id] for row in rows})
    open_conditions = dict(enumerate(asked.by_condition))
    covered: set[str] = set()
    for scenario in scenarios:
        for place, (on, judging) in list(open_conditions.items()):
            steps = scenario.steps if on.in_scenario(scenario.id) else ()
            for step in steps:
                if on.applies_to(scenario, step, contract):
                    covered.update(row.id for _, check, row in judging if not _is_pruned(row, check, scenario, step))
            if covered.issuperset(row.id for _, _, row in judging):
                del open_conditions[place]
    return frozenset(covered)


def _assertions(contract: Contract, scenario: Scenario, demanded: _Demanded) -> Iterator[Assertion]:
    is_pruned = any(step.pruned for step in scenario.steps)
    conditions = [(on, rows) for on, rows in demanded.by_condition if on.in_scenario(scenario.id)]
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


def shows(check: Check, scenario: Scenario, contract: Contract) -> bool:
    """Return whether a check judges a step of a scenario."""
    return any(check.on.applies_to(scenario, step, contract) for step in scenario.steps)


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
