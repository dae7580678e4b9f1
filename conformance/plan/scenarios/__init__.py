"""What to send: scenarios written as YAML, and scenarios generated from the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.plan.capabilities import narrowed_by
from conformance.plan.scenarios import boundaries, written
from conformance.plan.scenarios import undeclared_capabilities as lacking

if TYPE_CHECKING:
    from conformance.plan.capabilities import Declaration
    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract


def scenarios(contract: Contract, declaration: Declaration) -> tuple[Scenario, ...]:
    """Everything to send to a server of this contract that declares these capabilities, in order of sending."""
    narrowed = narrowed_by(declaration, contract)
    return (*written.read(narrowed), *boundaries.generate(narrowed), *lacking.generate(contract, declaration))
