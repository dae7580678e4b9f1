"""Find an example finding of each check: in a recorded run that the mutant of the check changes, or in stored results.

Some checks compare many answers, or concern answers with tool calls, which no recorded run has in the form that their
mutant changes. Their findings, from runs against the reference server with faults, are in docs/example-findings.json;
`python docs/record_examples.py` writes it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from conformance.proof.recorded_run import read_recorded_run
from openapi.contract.contract import names

if TYPE_CHECKING:
    from conformance.plan.assertion import Assertion
    from conformance.proof.mutants.mutant import Mutant
    from conformance.proof.recorded_run import RecordedRun

STORED: Final = Path(__file__).with_name("example-findings.json")
TRIED_ASSERTIONS: Final = 12
"""Assertions of a check in a dialect that are tried."""
LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class ExampleFinding:
    """What a check reports about a server with a defect, and the command that serves this defect, if there is one."""

    defect: str
    expected: str
    got: str
    where: str
    command: str = ""


def find_example(check: str, mutant: Mutant | None) -> ExampleFinding | None:
    """Return the example of a check; None if neither a recorded run nor the stored results have one."""
    if mutant is not None and (example := find_in_recorded_runs(check, mutant)) is not None:
        return example
    stored = read_stored().get(check)
    if stored is None:
        return None
    command = f"chatproof serve --dialect {stored['dialect']} --fault {stored['fault']}"
    return ExampleFinding(stored["defect"], stored["expected"], stored["got"], stored["where"], command)


@cache
def read_stored() -> dict[str, dict[str, str]]:
    """Return the stored examples by check: dialect, fault, defect, expected, got and where."""
    content: dict[str, dict[str, str]] = json.loads(STORED.read_text("utf-8"))
    return content


@cache
def find_in_recorded_runs(check: str, mutant: Mutant) -> ExampleFinding | None:
    """Return what a check finds in a recorded run that its mutant changes; None if no recorded run shows it."""
    for dialect in sorted(set(names().values())):
        run, assertions = _read(dialect)
        fitting = (item for item in assertions.get(check, ()) if fnmatchcase(item.scenario.id, mutant.scenario))
        for assertion in islice(fitting, TRIED_ASSERTIONS):
            steps = mutant.steps or assertion.step.name
            changed = {}
            for (scenario, step), exchange in run.exchanges.items():
                if scenario == assertion.scenario.id and fnmatchcase(step, steps):
                    with suppress(Exception):  # the change does not fit this exchange
                        changed[scenario, step] = mutant.change(exchange)
            (judgement,) = run.judge(changed, [assertion]) if changed else (None,)
            if judgement is not None and judgement.findings:
                finding = judgement.findings[0]
                return ExampleFinding(mutant.defect, finding.expected[:LONGEST], finding.got[:LONGEST], finding.where)
    return None


@cache
def _read(dialect: str) -> tuple[RecordedRun, dict[str, list[Assertion]]]:
    """Return the recorded run of a dialect, and its assertions by check."""
    run = read_recorded_run(dialect)
    assertions: defaultdict[str, list[Assertion]] = defaultdict(list)
    for assertion in run.plan.assertions:
        assertions[assertion.check.id].append(assertion)
    return run, dict(assertions)
