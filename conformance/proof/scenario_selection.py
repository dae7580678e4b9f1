"""Select the scenarios that a fault is tested with. Pure.

When a row of the kill table is written, the fault is tested with all scenarios that can show it. When the row is
verified, it is tested with the scenarios that showed it to every check that detects it, and with a sample of the
others. The sample differs between faults but is the same in every run; it finds new false positives.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.proof.kill import Kill
    from conformance.scenario import Scenario

    Selection = Callable[[Sequence[Scenario]], frozenset[str]]

ALL: Final = "*"  # stands for all scenarios if no part of them is enough
SAMPLE_SIZE: Final = 1
CROWD: Final = 150
"""Size of the sample next to scenarios that show a fault only among many other requests."""


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
