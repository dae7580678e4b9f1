"""The recorded run of the reference server in one dialect, whose exchanges proofs change and judge again.

The runs are stored in `conformance/proof/recordings`. `pytest conformance/tests --re-record` records them again, which
is necessary after changes to the scenarios or to the answers of the server.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import HarnessError
from conformance.exchange import Exchange
from conformance.judge.judgement import judge
from conformance.plan.capabilities import DeclaredCapabilities, narrow_to_declared
from conformance.run.drafting import draft
from openapi.contract.contract import load
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.judge.judgement import Judgement
    from conformance.plan.assertion import Assertion
    from conformance.plan.plan import Plan
    from openapi.contract.contract import Contract

RECORDINGS = Path(__file__).parent / "recordings"

Exchanges = dict[tuple[str, str], Exchange]
"""Exchanges by scenario and step."""


@dataclass(frozen=True)
class RecordedRun:
    """A recorded run without failures: its plan, the contract narrowed to its capabilities, and its exchanges."""

    contract: Contract
    declaration: DeclaredCapabilities
    plan: Plan
    model: str
    validator: Validator
    exchanges: Mapping[tuple[str, str], Exchange]

    def __repr__(self) -> str:  # pytest shows it with a failed test; the default has megabytes
        return f"{type(self).__name__}({self.contract.name})"

    def judge(
        self, changed: Mapping[tuple[str, str], Exchange], assertions: Iterable[Assertion] | None = None
    ) -> tuple[Judgement, ...]:
        """Judge the run with some exchanges replaced."""
        recorded = {**self.exchanges, **changed}
        wanted = self.plan.assertions if assertions is None else assertions
        return judge(wanted, recorded, self.contract, self.validator, self.model, {})

    @cached_property
    def steps_by_scenario(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the steps of each scenario that were recorded, in order."""
        return {
            scenario.id: tuple(step.name for step in scenario.steps if (scenario.id, step.name) in self.exchanges)
            for scenario in self.plan.scenarios
        }

    @cached_property
    def assertions_by_scenario(self) -> Mapping[str, tuple[Assertion, ...]]:
        """The assertions of each scenario."""
        grouped: dict[str, list[Assertion]] = {}
        for assertion in self.plan.assertions:
            grouped.setdefault(assertion.scenario.id, []).append(assertion)
        return {scenario: tuple(assertions) for scenario, assertions in grouped.items()}


def recording_path(dialect: str) -> Path:
    """Return the file of a dialect's recorded run."""
    return RECORDINGS / f"{dialect}.json.xz"


def read_recorded_run(dialect: str) -> RecordedRun:
    """Read the recorded run of a dialect. Raises HarnessError if it is missing or invalid."""
    path = recording_path(dialect)
    try:
        content = json.loads(lzma.decompress(path.read_bytes()))
        denied = frozenset(content["denied"])
        exchanges = [Exchange.from_dict(exchange) for exchange in content["exchanges"]]
        model = content["model"]
    except (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise HarnessError(
            f"cannot read the recorded run {path.name}: {error}; record it with `pytest conformance/tests --re-record`"
        ) from error
    contract = load(dialect)
    declared = frozenset(contract.capabilities) - denied  # a capability that is newer than the record was not denied
    declaration = DeclaredCapabilities(declared, denied, "the record")
    narrowed = narrow_to_declared(contract, declaration.declared)
    return RecordedRun(
        narrowed,
        declaration,
        draft(contract, declaration),
        model,
        Validator(narrowed),
        {(exchange.scenario, exchange.step): exchange for exchange in exchanges},
    )
