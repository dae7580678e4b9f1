"""Asking: which scenarios a fault is shown to. Pure.

All of them, where its row is written. Where the row is held against the server, those that showed it to every check
that names it, and a sample of the others, drawn anew for each fault but the same in every run: it finds who is blamed
falsely since.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.proof.fault_run import Kill
    from conformance.scenario import Scenario

    Asking = Callable[[Sequence[Scenario]], frozenset[str]]

ALL: Final = "*"  # in the place of scenarios: no part of them is enough
OTHERS: Final = 12


def everything(met: Sequence[Scenario]) -> frozenset[str]:
    """All that may show it."""
    return frozenset(each.id for each in met)


def again(fault: str, shown_by: Collection[str], others: int = OTHERS) -> Asking:
    """What showed a fault, and a sample of the rest."""

    def ask(met: Sequence[Scenario]) -> frozenset[str]:
        if ALL in shown_by:
            return everything(met)
        rest = sorted(each.id for each in met if each.id not in shown_by)
        drawn = random.Random(fault).sample(rest, min(others, len(rest)))
        return everything(met) & {*shown_by, *drawn}

    return ask


def enough(kills: Collection[Kill], killers: Mapping[str, str]) -> tuple[str, ...]:
    """Few scenarios in which each of these checks names the fault as bindingly as it does in all of them.

    Chosen greedily: the one that shows most of what is left, the first by name of several.
    """
    shows: dict[str, set[str]] = {}
    for kill in kills:
        if killers.get(kill.check) == kill.strength:
            for scenario in kill.scenarios:
                shows.setdefault(scenario, set()).add(kill.check)
    left, chosen = set(killers), []
    while left:
        best = max(sorted(shows), key=lambda name: len(shows[name] & left))
        chosen.append(best)
        left -= shows[best]
    return tuple(sorted(chosen))


def all_of(kills: Collection[Kill], killers: Mapping[str, str]) -> tuple[str, ...]:
    """Every scenario in which one of these checks names the fault."""
    return tuple(sorted({name for kill in kills if kill.check in killers for name in kill.scenarios}))
