"""What to send: scenarios written as YAML, and scenarios generated from the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.scenarios import boundaries, lacking, written

if TYPE_CHECKING:
    from conformance.declaration import Declaration
    from conformance.scenario import Scenario
    from openapi.contract import Contract


def scenarios(contract: Contract, declaration: Declaration) -> tuple[Scenario, ...]:
    """Everything to send to a server of this contract that declares these capabilities, in order of sending."""
    offered = contract.without(set(contract.capabilities) - declaration.declared)
    return (*written.read(offered), *boundaries.generate(offered), *lacking.generate(contract, declaration))
