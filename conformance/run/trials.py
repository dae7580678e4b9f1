"""Decide which steps of a later round a trial still needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.judge.rounds import pending

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.check import Check
    from conformance.exchange import Exchange
    from conformance.plan.plan import Plan
    from conformance.scenario import Scenario, Step


class Trials:
    """The checks of a plan that judge scenarios with rounds."""

    def __init__(self, plan: Plan) -> None:
        self._judged: dict[str, list[tuple[Check, Step]]] = {}
        for assertion in plan.assertions:
            if assertion.scenario.rounds and assertion.check.trial is not None:
                self._judged.setdefault(assertion.scenario.id, []).append((assertion.check, assertion.step))

    def select_needed(
        self, scenario: Scenario, steps: Iterable[Step], exchanges: Mapping[tuple[str, str], Exchange]
    ) -> list[Step]:
        """Return the steps of a later round that an undecided trial needs, given the exchanges made so far."""
        made = {step.name: exchanges[key] for step in scenario.steps if (key := (scenario.id, step.name)) in exchanges}
        parts = pending(self._judged.get(scenario.id, ()), scenario, made)
        return [step for step in steps if step.part in parts]
