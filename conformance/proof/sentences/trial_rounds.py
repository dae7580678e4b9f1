"""Extend the rounds of a trial to all that a scenario allows.

A recorded run stops as soon as the answers have decided a trial. A server that differs decides it later, so the rounds
that were not sent are filled with those that were. Recorded rounds have decided the trial already, so that the filled
ones cannot change its result without a deviation.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.plan.assertion import Assertion
    from conformance.proof.recorded_run import RecordedRun
    from conformance.scenario import Step


def extend_rounds(assertion: Assertion, run: RecordedRun) -> dict[str, Exchange]:
    """Return the exchanges of all rounds that a trial may need, by step; without rounds, nothing."""
    scenario = assertion.scenario
    needed = set(assertion.check.steps(scenario, assertion.step, {step.name for step in scenario.steps}))
    recorded = {step.name: run.exchanges.get((scenario.id, step.name)) for step in scenario.steps}
    rounds: dict[int, list[Step]] = {}
    for step in scenario.steps:
        if step.name in needed:
            rounds.setdefault(step.round, []).append(step)
    once = {step.name: exchange for step in rounds.pop(0, ()) if (exchange := recorded[step.name]) is not None}
    complete = [steps for steps in rounds.values() if all(recorded[step.name] is not None for step in steps)]
    if not complete:
        return {}
    result, sources = once, cycle(complete)
    for steps in rounds.values():
        by_part = {step.part: recorded[step.name] for step in (steps if steps in complete else next(sources))}
        for step in steps:
            if (exchange := by_part.get(step.part)) is not None:
                result[step.name] = replace(exchange, id=f"{scenario.id}/{step.name}", step=step.name)
    return result
