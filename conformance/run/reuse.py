"""Find the exchanges of an earlier plan that another plan for the same server can reuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from conformance.exchange import Exchange

if TYPE_CHECKING:
    from conformance.plan.plan import Plan
    from conformance.record import Record

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
