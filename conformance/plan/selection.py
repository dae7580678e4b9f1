"""Select the requests that show the selected checks: each check under each of its conditions, in few requests.

A check that judges few requests keeps all of them, and so does one whose requests differ in what they test: the values
of a parameter, the steps of a relation, the rounds of a trial. Of the many requests that any other check judges, a
greedy set cover takes the ones that show most conditions for least requests. Requests are shared between checks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from conformance.plan.conditions import list_conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from conformance.plan.assertion import Assertion
    from conformance.plan.conditions import Condition
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

    Requests: TypeAlias = frozenset[tuple[str, str]]
    Needs: TypeAlias = "set[tuple[str, Condition]]"

FEW_REQUESTS: Final = 12
"""A check that judges at most this many requests keeps all of them."""


def select_requests(
    assertions: Sequence[Assertion], contract: Contract, is_named: Callable[[Assertion], bool]
) -> tuple[tuple[Scenario, ...], tuple[Assertion, ...]]:
    """Return the scenarios, narrowed to the selected steps, and the assertions that they show.

    is_named: whether the user selected the scenario of an assertion by its name, which keeps all of its steps.
    """
    requests = {assertion.id: needed_requests(assertion) for assertion in assertions}
    chosen: set[tuple[str, str]] = set()
    candidates: dict[Requests, Needs] = {}
    for group in _by_check(assertions).values():
        few = len(frozenset().union(*(requests[assertion.id] for assertion in group))) <= FEW_REQUESTS
        for assertion in group:
            if is_named(assertion):
                chosen |= {(assertion.scenario.id, step.name) for step in assertion.scenario.steps}
            elif few or _is_distinct(assertion):
                chosen |= requests[assertion.id]
            elif assertion.step.streams_as is None:  # other streams show the same as the repetition of a plain request
                conditions = {(assertion.check.id, item) for item in list_conditions(assertion, contract)}
                candidates.setdefault(requests[assertion.id], set()).update(conditions)
    chosen |= _cover(candidates, chosen)
    scenarios = {assertion.scenario.id: assertion.scenario for assertion in assertions}
    narrowed = (narrow_scenario(scenario, chosen) for scenario in scenarios.values())
    shown = tuple(assertion for assertion in assertions if requests[assertion.id] <= chosen)
    return tuple(scenario for scenario in narrowed if scenario.steps), shown


def add_presupposed(
    selected: Sequence[Assertion], every: Iterable[Assertion], scenarios: Iterable[Scenario]
) -> tuple[Assertion, ...]:
    """Add the assertions about requests that are sent anyway whose findings invalidate the whole response.

    Without them, a server that answers no request as asked would show nothing to the selected checks, and would pass.
    Nothing is presupposed of a request that may be answered or refused.
    """
    sent = {(scenario.id, step.name) for scenario in scenarios for step in scenario.steps}
    known = {assertion.id for assertion in selected}
    added = (
        assertion
        for assertion in every
        if "response" in assertion.check.invalidates
        and assertion.step.expect != "either"
        and assertion.id not in known
        and needed_requests(assertion) <= sent
    )
    return (*selected, *added)


def _by_check(assertions: Iterable[Assertion]) -> dict[str, list[Assertion]]:
    groups: dict[str, list[Assertion]] = {}
    for assertion in assertions:
        groups.setdefault(assertion.check.id, []).append(assertion)
    return groups


def _is_distinct(assertion: Assertion) -> bool:
    """Return whether no other request shows the check the same."""
    check = assertion.check
    return check.by_subject or check.is_relation or assertion.scenario.case is not None


def needed_requests(assertion: Assertion) -> Requests:
    """Return the requests that an assertion needs, by scenario and step.

    Steps that share a connection or the moment in which they are sent show little alone. A step after a refusal or a
    disconnect shows whether the server goes on, so it needs the steps in front of it.
    """
    scenario, step = assertion.scenario, assertion.step
    if scenario.together or scenario.one_connection or scenario.alone:
        needed: Collection[str] = {other.name for other in scenario.steps if other.round <= max(1, step.round)}
        if assertion.check.trial is not None:
            needed = {other.name for other in scenario.steps}
        return frozenset((scenario.id, name) for name in needed)
    names = set(assertion.check.steps(scenario, step, {other.name for other in scenario.steps}))
    last = max(index for index, other in enumerate(scenario.steps) if other.name in names)
    if not scenario.rounds and any(map(_disturbs, scenario.steps[:last])):
        names.update(other.name for other in scenario.steps[: last + 1])
    for other in reversed(scenario.steps):
        if other.name in names and other.source is not None:
            names.add(other.source)
    return frozenset((scenario.id, name) for name in names)


def _disturbs(step: Step) -> bool:
    """Return whether a step may leave the server in another state: it is not a request that is answered in full."""
    return step.expect == "refusal" or step.stop_after_events is not None or not step.targets_chat


def _cover(candidates: dict[Requests, Needs], chosen: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return requests that meet the needs of all candidates which the chosen requests do not meet.

    The choice is greedy: the candidate that meets most of the missing needs for each request that it adds.
    """
    covered = set(chosen)
    missing = set().union(*candidates.values()) - _met(candidates, covered)
    ordered = sorted(candidates, key=sorted)
    while missing:
        gains = [
            len(candidates[requests] & missing) / max(1, len(requests) - len(requests & covered))
            for requests in ordered
        ]
        covered |= ordered[gains.index(max(gains))]
        missing -= _met(candidates, covered)
    return covered - chosen


def _met(candidates: dict[Requests, Needs], covered: set[tuple[str, str]]) -> Needs:
    """Return the needs that the covered requests meet."""
    return {need for requests, needs in candidates.items() if requests <= covered for need in needs}


def narrow_scenario(scenario: Scenario, chosen: Collection[tuple[str, str]]) -> Scenario:
    """Return the scenario with the chosen steps only, given by scenario and step."""
    kept = tuple(step for step in scenario.steps if (scenario.id, step.name) in chosen)
    return scenario if len(kept) == len(scenario.steps) else replace(scenario, steps=kept)
