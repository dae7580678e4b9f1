"""Select the scenarios that a fault, a mode or a contract is tested with. Pure.

When a row of the kill table is written, the fault is tested with all scenarios that can show it. When the row is
verified, it is tested with the scenarios that showed it to its strongest check and to checks that few faults show, and
with a sample of the others. The sample differs between faults but is the same in every run; it finds new false
positives.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.plan.plan import Plan
    from conformance.proof.kill import Kill
    from conformance.scenario import Scenario

    Selection = Callable[[Sequence[Scenario]], frozenset[str]]

ALL: Final = "*"  # stands for all scenarios if no part of them is enough
SAMPLE_SIZE: Final = 1
CROWD: Final = 150
"""Size of the sample next to scenarios that show a fault only among many other requests."""
STRONGEST_FIRST: Final = "MSo"
SHORT: Final = 12
"""Requests of a short scenario."""
LONG_REQUESTS: Final = 60
"""Requests of longer scenarios together, such as rounds of trials."""
FAULTS_OF_A_CHECK: Final = 2
"""By how many faults each check is verified, if it detects as many."""


class Detection(NamedTuple):
    """A scenario in which a check detects a fault with this strength, and how many requests the scenario has."""

    check: str
    strength: str
    scenario: str
    requests: int


def select_all(scenarios: Sequence[Scenario]) -> frozenset[str]:
    """Select all scenarios that can show the fault."""
    return frozenset(scenario.id for scenario in scenarios)


def select_known(fault: str, shown_by: Collection[str], sample_size: int = SAMPLE_SIZE) -> Selection:
    """Return a selection of the scenarios that showed the fault, and a sample of the others."""

    def select(scenarios: Sequence[Scenario]) -> frozenset[str]:
        if ALL in shown_by:
            return select_all(scenarios)
        others = sorted(scenario.id for scenario in scenarios if scenario.id not in shown_by)
        sample = random.Random(fault).sample(others, min(sample_size, len(others)))
        return select_all(scenarios) & {*shown_by, *sample}

    return select


def narrow(plan: Plan, ids: frozenset[str]) -> Plan:
    """Return the plan with only these scenarios."""
    return replace(
        plan,
        scenarios=tuple(scenario for scenario in plan.scenarios if scenario.id in ids),
        assertions=tuple(assertion for assertion in plan.assertions if assertion.scenario.id in ids),
    )


def limit_requests(scenarios: frozenset[str], plan: Plan, draw: random.Random) -> frozenset[str]:
    """Return the short scenarios, and long ones that are drawn until they have LONG_REQUESTS requests together."""
    long = {item.id: len(item.steps) for item in plan.scenarios if item.id in scenarios and len(item.steps) > SHORT}
    chosen, left = set(scenarios - long.keys()), LONG_REQUESTS
    for name in draw.sample(sorted(long), len(long)):
        if left > 0:
            chosen.add(name)
            left -= long[name]
    return frozenset(chosen)


def find_sufficient(kills: Collection[Kill], killers: Mapping[str, str], times: int = 1) -> tuple[str, ...]:
    """Return a few scenarios in which each of these checks detects the fault with the given strength.

    The choice is greedy: the scenario that covers most of the remaining checks, the first by name if there are several.

    times: in how many scenarios each check detects the fault, as far as there are as many.
    """
    checks_by_scenario: dict[str, set[str]] = {}
    for kill in kills:
        if killers.get(kill.check) == kill.strength:
            for scenario in kill.scenarios:
                checks_by_scenario.setdefault(scenario, set()).add(kill.check)
    chosen: list[str] = []
    for _ in range(times):
        remaining = set(killers) & set().union(*checks_by_scenario.values())
        while remaining:
            best = max(sorted(checks_by_scenario), key=lambda name: len(checks_by_scenario[name] & remaining))
            chosen.append(best)
            remaining -= checks_by_scenario.pop(best)
    return tuple(sorted(chosen))


def find_all(kills: Collection[Kill], killers: Mapping[str, str]) -> tuple[str, ...]:
    """Return every scenario in which one of these checks detects the fault."""
    return tuple(sorted({name for kill in kills if kill.check in killers for name in kill.scenarios}))


def find_detections(
    kills: Collection[Kill], killers: Mapping[str, str], shown_by: Collection[str], requests: Mapping[str, int]
) -> list[Detection]:
    """Return by which of these checks a fault is detected in which of these scenarios, the best to repeat first.

    requests: how many each scenario has.
    """
    detections = {
        Detection(kill.check, kill.strength, scenario, requests.get(scenario, 0))
        for kill in kills
        if killers.get(kill.check) == kill.strength
        for scenario in kill.scenarios
        if scenario in shown_by
    }
    return sorted(
        detections, key=lambda item: (STRONGEST_FIRST.index(item.strength), item.requests, item.scenario, item.check)
    )


def choose_verified(detections: Mapping[str, Sequence[Detection]]) -> dict[str, dict[str, str]]:
    """Choose for each fault the checks that verify it, each with a scenario in which it detects the fault.

    These are the strongest check of the fault, all others of the same scenario, and then as many more faults for each
    check as `FAULTS_OF_A_CHECK` asks for, those with the fewest additional requests first.
    """
    chosen: dict[str, dict[str, str]] = {}
    counts: Counter[str] = Counter()

    def add(fault: str, scenario: str) -> None:
        verified = chosen.setdefault(fault, {})
        new = {item.check for item in detections[fault] if item.scenario == scenario} - verified.keys()
        verified.update(dict.fromkeys(sorted(new), scenario))
        counts.update(new)

    for fault, items in detections.items():
        if items:
            add(fault, items[0].scenario)
    others = sorted(
        (item.check, item.requests, fault, item.scenario) for fault, items in detections.items() for item in items
    )
    for check, _, fault, scenario in others:
        if counts[check] < FAULTS_OF_A_CHECK and check not in chosen[fault]:
            add(fault, scenario)
    return chosen
