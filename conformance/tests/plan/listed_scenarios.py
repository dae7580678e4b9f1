"""All scenarios for a server with some capabilities, listed once for all tests: it takes seconds."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from conformance.plan.capabilities import DeclaredCapabilities, narrow_contract
from conformance.plan.scenarios import list_scenarios

if TYPE_CHECKING:
    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract


def list_for(contract: Contract, capabilities: DeclaredCapabilities) -> tuple[Contract, tuple[Scenario, ...]]:
    """Return the contract for a server with these capabilities, and all scenarios for it."""
    return _list_for(contract, capabilities.declared, capabilities.denied)


@cache
def _list_for(
    contract: Contract, declared: frozenset[str], denied: frozenset[str]
) -> tuple[Contract, tuple[Scenario, ...]]:
    capabilities = DeclaredCapabilities(declared, denied, "a test")
    narrowed = narrow_contract(contract, capabilities)
    return narrowed, list_scenarios(contract, narrowed, capabilities)
