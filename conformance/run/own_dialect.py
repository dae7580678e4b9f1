"""Check what a dialect outside this package adds to the suite: its requirements, checks and scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import HarnessError, UsageError
from conformance.judge.check_registry import gather_checks
from conformance.plan.scenarios.written import check_scenarios
from openapi.contract.contract import ContractError
from openapi.contract.yaml_file import locate_error
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from openapi.contract.contract import Contract


def check_own_dialect(contract: Contract) -> None:
    """Raise UsageError, with the file and the line, for an invalid scenario, check or requirement of a dialect file."""
    files = [Path(file) for file in contract.files]
    try:
        _check_requirements(contract)
        check_scenarios(contract)
    except UsageError:  # from a file with checks
        raise
    except (HarnessError, ContractError) as error:
        raise UsageError(str(locate_error(ContractError(str(error)), files))) from error


def _check_requirements(contract: Contract) -> None:
    """Raise ContractError for a requirement without a check."""
    checks = gather_checks(contract)
    for identity in contract.requirements:
        if identity not in checks:
            raise ContractError(
                f"{contract.location}: requirements/{identity}: unknown check: define it in a checks.py next to the "
                f"file, or name a check that `chatproof checks list` prints{suggest(identity, checks)}"
            )
