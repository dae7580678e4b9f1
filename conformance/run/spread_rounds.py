"""Decide when the rounds of spread scenarios are sent: before all other scenarios, between them, and after them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from conformance.scenario import Scenario, Step

USUAL_SHARE: Final = 0.7
"""Trials end early, so that a run sends about this share of the requests that its plan allows."""


class SpreadRounds:
    """The rounds of spread scenarios that are still to be sent, each with the number of requests after which it is due.

    The first round is due at once. The last is due only when everything else has been sent.
    """

    def __init__(self, scenarios: Collection[Scenario]) -> None:
        usual = USUAL_SHARE * sum(len(scenario.steps) for scenario in scenarios if not scenario.spread)
        self._waiting: list[tuple[float, Scenario, tuple[Step, ...]]] = []
        for scenario in scenarios:
            if scenario.spread:
                rounds = [tuple(steps) for _, steps in groupby(scenario.steps, key=lambda step: step.round)]
                between = usual / max(1, len(rounds) - 1)
                self._waiting += [(between * number, scenario, steps) for number, steps in enumerate(rounds[:-1])]
                self._waiting.append((float("inf"), scenario, rounds[-1]))

    def take_due(self, sent: int) -> list[tuple[Scenario, Step]]:
        """Remove and return the steps that are due after this number of requests."""
        due = [item for item in self._waiting if item[0] <= sent]
        self._waiting = [item for item in self._waiting if item[0] > sent]
        return [(scenario, step) for _, scenario, steps in due for step in steps]

    def take_last(self) -> tuple[list[tuple[Scenario, Step]], list[tuple[Scenario, Step]]]:
        """Remove all steps that are left, and return those of the last rounds, and those of rounds never due."""
        last = [(scenario, step) for at, scenario, steps in self._waiting if at == float("inf") for step in steps]
        others = [(scenario, step) for at, scenario, steps in self._waiting if at != float("inf") for step in steps]
        self._waiting = []
        return last, others
