"""Check what a dialect outside this package adds to the suite: its requirements, checks and scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import HarnessError, UsageError
from conformance.plan.scenarios.written.reading import check_scenarios
from openapi.contract.contract import ContractError
from openapi.contract.tree.yaml_file import locate_error
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Collection

    from openapi.contract.contract import Contract


def check_own_dialect(contract: Contract, checks: Collection[str]) -> None:
    """Raise UsageError, with the file and the line, for an invalid scenario or requirement of a dialect file.

    checks: the ids of all checks, including those of the file.
    """
    files = [Path(file) for file in contract.files]
    try:
        _check_requirements(contract, checks)
        check_scenarios(contract)
    except (HarnessError, ContractError) as error:
        raise UsageError(str(locate_error(ContractError(str(error)), files))) from error


def _check_requirements(contract: Contract, checks: Collection[str]) -> None:
    """Raise ContractError for a requirement without a check."""
    for identity in contract.requirements:
        if identity not in checks:
            raise ContractError(
                f"{contract.location}: requirements/{identity}: unknown check: define it in a checks.py next to the "
                f"file, or name a check that `chatproof checks list` prints{suggest(identity, checks)}"
            )
