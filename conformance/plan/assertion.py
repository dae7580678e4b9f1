"""Assertions: which check judges which step, and for which requirement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.check import Check
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Requirement


@dataclass(frozen=True, slots=True)
class Assertion:
    """One check on one step, for one requirement. A relation is an assertion on the last of its steps."""

    check: Check
    scenario: Scenario
    step: Step
    requirement: Requirement
    summary: str

    @property
    def id(self) -> str:
        """The name of the pytest item: scenario, step (unless it is the only one) and check."""
        step = "" if len(self.scenario.steps) == 1 else f"/{self.step.name}"
        fact = f"[{self.requirement.id}]" if self.scenario.shared else ""
        return f"{self.scenario.id}{step}::{self.check.id}{fact}"
