"""Limit how much of a plan is sent: a smoke test, the usual run, or everything.

- quick: a few dozen requests that show as many requirements as possible, a MUST before a SHOULD.
- standard: nearly everything, but no more than the usual number of requests. Steps of which others show nearly the same
  are left out. If the contract has many parameters, some values
  of the requirements with the most values are left out, then values whose outcome the document leaves open or only
  recommends.
- thorough: everything, and each value alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args
from zlib import crc32

from conformance.plan.expected_cost import count_usual_rounds, is_usually_sent
from conformance.plan.selection import narrow_scenario, needed_requests
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.plan.assertion import Assertion
    from conformance.plan.plan import Plan
    from conformance.plan.selection import Requests
    from conformance.scenario import Scenario
    from openapi.contract.contract import Parameter

Depth: TypeAlias = Literal["quick", "standard", "thorough"]
DEPTHS: Final[tuple[Depth, ...]] = get_args(Depth)
QUICK_REQUESTS: Final = 50
STANDARD_REQUESTS: Final = 869
"""Less than 900, because a run also sends a few requests to learn whether the server still answers."""
QUICK_TOKENS: Final = 64
"""The most completion tokens of one request of a quick run."""
WEIGHTS: Final[Mapping[Keyword, float]] = {Keyword.MUST: 4.0, Keyword.SHOULD: 1.0, Keyword.MAY: 0.1}


def limit_plan(plan: Plan, depth: Depth) -> Plan:
    """Return the part of a plan that is sent at this depth."""
    match depth:
        case "quick":
            alone = _send_alone(plan)  # requests with many values would take the place of those that show other faults
            return _narrow(alone, _choose_few(alone))
        case "standard":
            left_out = _choose_left_out(plan)
            return _leave_out(plan, left_out) if left_out else plan
        case "thorough":
            return _send_alone(plan)


def without_thorough_steps(scenarios: Iterable[Scenario]) -> tuple[Scenario, ...]:
    """Return the scenarios without the steps that only a thorough run sends."""
    kept = (
        replace(scenario, steps=tuple(step for step in scenario.steps if not step.thorough)) for scenario in scenarios
    )
    return tuple(scenario for scenario in kept if scenario.steps)


def _send_alone(plan: Plan) -> Plan:
    """Return the plan with a request for each value that is otherwise sent together with others."""
    scenarios = tuple(replace(scenario, unless_answered="") for scenario in plan.scenarios)
    return replace(
        plan, scenarios=scenarios, assertions=tuple(item for item in plan.assertions if not item.scenario.shared)
    )


def _leave_out(plan: Plan, left_out: set[str]) -> Plan:
    """Return the plan without these scenarios, without those that only these make needless, and their assertions."""
    left_out = left_out | {item.id for item in plan.scenarios if item.unless_answered in left_out}
    scenarios = tuple(item for item in plan.scenarios if item.id not in left_out)
    assertions = tuple(item for item in plan.assertions if item.scenario.id not in left_out)
    return replace(plan, scenarios=scenarios, assertions=assertions, partial=True)


def _narrow(plan: Plan, chosen: set[tuple[str, str]]) -> Plan:
    """Return the plan with these steps, and the assertions that they show."""
    scenarios = tuple(narrow_scenario(scenario, chosen) for scenario in plan.scenarios)
    assertions = tuple(item for item in plan.assertions if needed_requests(item) <= chosen)
    scenarios = tuple(scenario for scenario in scenarios if scenario.steps)
    return replace(plan, scenarios=scenarios, assertions=assertions, partial=True)


def _choose_left_out(plan: Plan) -> set[str]:
    """Return the scenarios to leave out: values of the requirements that have the most values.

    Which of them is decided by their ids, so that different parameters keep different values. Values that must be
    accepted are kept longer: each may fail for itself, while servers refuse most invalid values in one way. A value is
    kept for each sentence with a MUST that values show.
    """
    rounds = count_usual_rounds(plan)
    requests = sum(is_usually_sent(item, step, rounds) for item in plan.scenarios for step in item.steps)
    values: dict[str, list[Scenario]] = defaultdict(list)
    for scenario in plan.scenarios:
        if scenario.subject is not None and len(scenario.steps) == 1 and not scenario.unless_answered:
            values[scenario.subject.requirement].append(scenario)
    homes = _choose_homes(plan)
    kept = {row: max(1, sum(item.id in homes for item in scenarios)) for row, scenarios in values.items()}
    for scenarios in values.values():
        scenarios.sort(key=lambda scenario: (scenario.id not in homes, crc32(scenario.id.encode())))
    left_out: set[str] = set()
    while requests > STANDARD_REQUESTS and values:
        largest = max(values, key=lambda row: _weigh(values[row], kept[row]))
        if len(values[largest]) <= kept[largest]:
            break
        left_out.add(values[largest].pop().id)
        requests -= 1
    weaker = sorted((item for scenarios in values.values() for item in scenarios if _is_weak(item)), key=_weight)
    left_out.update(scenario.id for scenario in weaker[: max(0, requests - STANDARD_REQUESTS)])
    return left_out


def _choose_homes(plan: Plan) -> set[str]:
    """Return a scenario for each sentence with a MUST that only values of parameters show."""
    by_parameter: dict[str, list[Scenario]] = defaultdict(list)
    for scenario in plan.scenarios:
        if scenario.subject is not None and len(scenario.steps) == 1 and not scenario.unless_answered:
            by_parameter[scenario.subject.parameter].append(scenario)
    chosen: set[str] = set()
    for sentence in plan.contract.sentences:
        places = [place.split("/") for place in sentence.home.places]
        if sentence.keyword is not Keyword.MUST or not all(len(place) > 3 and place[2] == "probes" for place in places):
            continue
        shown = [
            (-_weight(scenario), crc32(scenario.id.encode()), scenario.id)
            for _, parameter, _, name, *_ in places
            for scenario in by_parameter[parameter]
            if _sends_probe(scenario, plan.contract.parameters[parameter], name)
        ]
        if shown and chosen.isdisjoint(identity for *_, identity in shown):
            chosen.add(min(shown)[-1])
    return chosen


def _sends_probe(scenario: Scenario, parameter: Parameter, name: str) -> bool:
    sent = [repr(probe.value) for probe in parameter.probes if probe.name == name]
    return scenario.subject is not None and repr(scenario.subject.value) in sent


def _weigh(scenarios: list[Scenario], kept: int) -> float:
    """Return by how many values a requirement has more than are kept, half of it for values that must be accepted."""
    accepted = any(item.subject is not None and item.subject.expect == "accept" for item in scenarios)
    return (len(scenarios) - kept) / (2 if accepted else 1)


def _is_weak(scenario: Scenario) -> bool:
    """Return whether a scenario tests no MUST, and not several values that should be accepted in one request."""
    return _weight(scenario) < (WEIGHTS[Keyword.SHOULD] / WEIGHTS[Keyword.MUST] if scenario.also else 1)


def _weight(scenario: Scenario) -> float:
    """Return how much the fact that a scenario tests matters, relative to a MUST."""
    return 0.0 if scenario.subject is None else WEIGHTS[scenario.subject.keyword] / WEIGHTS[Keyword.MUST]


def _choose_few(plan: Plan) -> set[tuple[str, str]]:
    """Return the requests of a quick run: again and again those that show most requirements for each request."""
    shown_by: dict[Requests, set[str]] = defaultdict(set)
    weights: dict[str, float] = {}
    for assertion in plan.assertions:
        if _is_quick(assertion):
            shown_by[needed_requests(assertion)].add(assertion.requirement.id)
            weights[assertion.requirement.id] = WEIGHTS[assertion.requirement.keyword]
    gains = _gather_gains(shown_by)
    chosen: set[tuple[str, str]] = set()
    while gains:
        ranks = {requests: _gain(gain, weights, requests - chosen) for requests, gain in gains.items()}
        best = max(ranks, key=lambda requests: (ranks[requests], min(requests)))
        gained = gains.pop(best)
        if len(chosen | best) <= QUICK_REQUESTS:
            chosen |= best
            remaining = ((requests, gain - gained) for requests, gain in gains.items())
            gains = {requests: gain for requests, gain in remaining if gain}
    return chosen


def _gather_gains(shown_by: Mapping[Requests, set[str]]) -> dict[Requests, set[str]]:
    """Return the requirements that each group of requests shows, including those of its parts.

    All requests of a group belong to one scenario.
    """
    groups: dict[str, list[Requests]] = defaultdict(list)
    for requests in shown_by:
        groups[min(requests)[0]].append(requests)
    return {
        requests: set().union(*(shown_by[part] for part in group if part <= requests))
        for group in groups.values()
        for requests in group
    }


def _is_quick(assertion: Assertion) -> bool:
    """Return whether the requests of an assertion are few and short."""
    scenario = assertion.scenario
    slow = scenario.rounds or scenario.disconnects or scenario.spread or any(step.crowd for step in scenario.steps)
    return not slow and all(step.tokens <= QUICK_TOKENS for step in scenario.steps)


def _gain(shown: set[str], weights: Mapping[str, float], added: Requests) -> float:
    return sum(weights[identity] for identity in shown) / max(1, len(added))
