"""Find the requests that need not be sent: an earlier plan has sent them, or no trial needs them any more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from conformance.exchange import Exchange
from conformance.judge.rounds import pending

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.check import Check
    from conformance.plan.plan import Plan
    from conformance.record import Record
    from conformance.scenario import Scenario, Step

ReusableExchanges: TypeAlias = Mapping[tuple[object, ...], Mapping[int, Exchange]]
"""The exchanges of each scenario by the position of their step; the key is what the scenario sends."""


def index_exchanges(plan: Plan, record: Record, model: str) -> ReusableExchanges:
    """Index the exchanges of a finished plan by what each scenario sends.

    A scenario is left out if a step of its first round is missing; later rounds may have been unnecessary.
    """
    index: dict[tuple[object, ...], dict[int, Exchange]] = {}
    for scenario in plan.scenarios:
        exchanges = [record.exchanges.get((scenario.id, step.name)) for step in scenario.steps]
        made = {position: exchange for position, exchange in enumerate(exchanges) if exchange is not None}
        if all(position in made for position, step in enumerate(scenario.steps) if step.round <= 1):
            index.setdefault(scenario.request_key(model), made)
    return index


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
