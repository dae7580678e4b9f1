"""Requests whose outcome the contract leaves open: a rule says MAY about their combination of parameters.

Such a step may be refused, whatever its scenario expects. If it is answered, the answer is judged as any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import jsonschema_rs

from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract


def mark_open_requests(scenarios: Iterable[Scenario], contract: Contract) -> Iterator[Scenario]:
    """Yield the scenarios; steps that expect an answer and break a rule with the level MAY may also be refused."""
    rules = [
        (rule.trigger, jsonschema_rs.validator_for(dict(rule.schema)))
        for rule in contract.rules.values()
        if rule.keyword is Keyword.MAY and rule.schema is not None and rule.trigger is not None
    ]

    def mark(step: Step) -> Step:
        body = step.body or {}
        is_open = any(trigger in body and not rule.is_valid(body) for trigger, rule in rules)
        return replace(step, expect="either") if is_open and step.expect == "answer" else step

    for scenario in scenarios:
        yield replace(scenario, steps=tuple(map(mark, scenario.steps)))
