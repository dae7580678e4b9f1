"""The contract of a dialect that an option names, and the endpoints of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.judge.check_registry import gather_checks
from conformance.plan.own_dialect import check_own_dialect
from openapi.address import AddressError, parse
from openapi.contract.contract import ContractError, load

if TYPE_CHECKING:
    from openapi.address import Target
    from openapi.contract.contract import Contract


def load_contract(dialect: str, option: str = "--dialect") -> Contract:
    """Load the contract of a dialect. Raises UsageError, which names the option, as `load` does."""
    try:
        contract = load(dialect)
    except ContractError as error:
        raise UsageError(f"{option}: {error}") from error
    if contract.files:
        check_own_dialect(contract, gather_checks(contract))
    return contract


def parse_target(url: str, contract: Contract) -> Target:
    """Return the endpoints of the server at a URL. Raises UsageError for an invalid URL."""
    try:
        return parse(url, contract.path, contract.models_path)
    except AddressError as error:
        raise UsageError(str(error)) from error
