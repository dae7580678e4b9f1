"""The reading of the written scenarios, as far as the contract allows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.plan.scenarios.fitting import NEUTRAL, Fitting
from conformance.plan.scenarios.written.rows import Rows, list_built_in_rows, list_own_rows, list_rows
from conformance.plan.scenarios.written.steps import describe_stray, known_parameters, list_steps
from conformance.scenario import Scenario, Step
from openapi.contract.tree.scenario_keys import SCENARIO_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract


def read_scenarios(contract: Contract) -> tuple[Scenario, ...]:
    """Return the written scenarios, without steps that the contract does not allow."""
    rows = list_rows(contract)
    scenarios = (_scenario(row, contract, file) for file, row in rows)
    fitting = Fitting(contract, leave_out_defaults=_about_defaults(rows))
    return tuple(fitting.fit(scenario for scenario in scenarios if _fits(scenario, contract)))


def _about_defaults(rows: Rows) -> frozenset[str]:
    """Return the ids of the scenarios that compare a default with leaving it out, or with null."""

    def compares(step: dict[str, Any]) -> bool:
        return "defaults" in step or any(
            (step.get("body") or {}).get(name, value) is None for name, value in NEUTRAL.items()
        )

    return frozenset(row["id"] for _, row in rows if any(map(compares, row["steps"])))


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield each scenario that the contract does not allow as it is written, with the reason."""
    fitting = Fitting(contract)
    for file, row in list_rows(contract):
        written = _scenario(row, None, file)
        candidates = [item for item in [_scenario(row, contract, file)] if _fits(item, contract)]
        kept = {step.name: step for scenario in fitting.fit(candidates) for step in scenario.steps}
        if reason := fitting.reasons.get(written.id) or _find_difference(written, kept, contract):
            yield written, f"scenario {written.id}, {reason}"


def _find_difference(written: Scenario, kept: Mapping[str, Step], contract: Contract) -> str | None:
    """Return which field of a scenario is not sent; None if all of them are."""
    for step in written.steps:
        sent = kept[step.name].body if step.name in kept else None
        for name, value in (step.body or {}).items():
            if name not in (sent or {}):
                what = "null for" if value is None and name in contract.parameters else "parameter"
                return f"step {step.name}: the contract has no {what} {name}"
    lacking = sorted(written.parameters - known_parameters(contract))
    return f"which needs the parameter {lacking[0]}" if lacking else None


def check_scenarios(contract: Contract) -> None:
    """Raise HarnessError, with the file and the id, for an invalid scenario of the dialect's own files."""
    built_in = {row["id"] for _, row in list_built_in_rows()}
    seen: set[str] = set()
    for file, row in list_own_rows(contract):
        place = f"{file}: scenarios/{row['id']}"
        if row["id"] in built_in or row["id"] in seen:
            owner = "a built-in scenario" if row["id"] in built_in else "another scenario"
            raise HarnessError(f"{place}: duplicate id: {owner} has it, choose another one")
        seen.add(row["id"])
        try:
            _scenario(row, None, file)
        except HarnessError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise HarnessError(f"{place}: invalid scenario: {type(error).__name__}: {error}") from error


def _fits(scenario: Scenario, contract: Contract) -> bool:
    return scenario.parameters <= known_parameters(contract) and scenario.capabilities <= set(contract.capabilities)


def _scenario(row: dict[str, Any], contract: Contract | None, file: str) -> Scenario:
    stray = set(row) - SCENARIO_KEYS
    if stray or not all(isinstance(row.get(name), str) for name in ("id", "summary")) or not row.get("steps"):
        place = f"{file}: scenarios/{row.get('id', row)}"
        raise HarnessError(
            f"{place}: invalid scenario: expected id and summary (both strings) and steps"
            f"{describe_stray(stray, SCENARIO_KEYS)}"
        )
    needs = row.get("needs", {})
    return Scenario(
        id=row["id"],
        summary=row["summary"],
        steps=tuple(list_steps(row, contract, f"{file}: scenarios/{row['id']}")),
        rounds=row.get("rounds", 0),
        together=row.get("together", False),
        one_connection=row.get("one_connection", False),
        alone=row.get("alone", False),
        spread=row.get("spread", False),
        capabilities=frozenset(needs.get("capabilities", ())),
        parameters=frozenset(needs.get("parameters", ())),
    )
