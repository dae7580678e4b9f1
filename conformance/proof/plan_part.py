"""Parts of plans: some of their scenarios, with few of those that send many requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from conformance.plan.plan import Plan

SHORT = 12  # requests of a scenario
LONG_REQUESTS = 60  # of longer ones together, such as rounds of trials


def narrow(plan: Plan, ids: frozenset[str]) -> Plan:
    """Return the plan with only these scenarios."""
    return replace(
        plan,
        scenarios=tuple(scenario for scenario in plan.scenarios if scenario.id in ids),
        assertions=tuple(assertion for assertion in plan.assertions if assertion.scenario.id in ids),
    )


def limit_requests(scenarios: frozenset[str], plan: Plan, random: Random) -> frozenset[str]:
    """Return the short scenarios, and long ones that are drawn until they have LONG_REQUESTS requests together."""
    long = {item.id: len(item.steps) for item in plan.scenarios if item.id in scenarios and len(item.steps) > SHORT}
    chosen, left = set(scenarios - long.keys()), LONG_REQUESTS
    for name in random.sample(sorted(long), len(long)):
        if left > 0:
            chosen.add(name)
            left -= long[name]
    return frozenset(chosen)
