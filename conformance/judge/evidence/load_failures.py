"""Judge requests that failed while others were processed, and were answered when they were sent again alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.plan.assertion import Assertion
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.check import Check
    from conformance.exchange import Exchange
    from openapi.contract.contract import Contract

LOAD_FAILURES: Final = "failed-under-load"
"""The id of the scenario in which the failed exchanges are recorded; its steps are numbered."""
ALL_ANSWERED: Final = "parallel.all-answered"
"""The check that judges them, and the requirement that a server breaks that fails under load."""


def list_load_assertions(
    recorded: Mapping[tuple[str, str], Exchange], contract: Contract, checks: Mapping[str, Check]
) -> Iterator[Assertion]:
    """Yield an assertion for each request of a run that failed under load and was answered alone."""
    row, check = contract.requirements.get(ALL_ANSWERED), checks[ALL_ANSWERED]
    steps = tuple(Step(step) for scenario, step in recorded if scenario == LOAD_FAILURES)
    scenario = Scenario(LOAD_FAILURES, "requests that failed among others, and were answered alone", steps)
    if row is not None:
        for step in steps:
            yield Assertion(check, scenario, step, row, check.claim)
