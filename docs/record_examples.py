"""Record example findings for the checks that no recorded run shows, by judging the reference server with faults.

    python docs/record_examples.py

Most pages of checks show what the check finds in a recorded run that its mutant changes. A check that compares many
answers, or answers of tools, cannot be shown in this way: the first finding of a run against the server with a fault
that the check detects, according to the kill table, is written to docs/example-findings.json.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run as a file, it finds only what is next to it

from conformance.client.secret import Secret  # noqa: E402
from conformance.errors import HarnessError, UsageError  # noqa: E402
from conformance.judge.check_registry import gather_checks  # noqa: E402
from conformance.proof import kill_table  # noqa: E402
from conformance.proof.fault_host import start_fault_host  # noqa: E402
from conformance.proof.mutants.mutant import gather_mutants  # noqa: E402
from conformance.run.session.options import RunOptions  # noqa: E402
from conformance.run.session.preparation import prepare_server  # noqa: E402
from conformance.run.session.sending import send  # noqa: E402
from docs.example_findings import LONGEST, STORED, find_in_recorded_runs  # noqa: E402
from openapi.contract.contract import load  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.proof.fault_host import RunningFaultHost

TRIED_FAULTS: Final = 4
"""Faults that are tried for a check."""


def list_checks() -> list[str]:
    """Return the checks that no recorded run shows."""
    mutants = gather_mutants()
    return [
        name
        for name in sorted(gather_checks())
        if name not in mutants or find_in_recorded_runs(name, mutants[name]) is None
    ]


def list_faults(check: str, table: dict[str, Any]) -> list[str]:
    """Return the faults that a check detects: first those that the fewest other checks detect."""
    detected = [name for name, fault in table.items() if check in fault["killed_by"]]
    return sorted(detected, key=lambda name: (len(table[name]["killed_by"]), name))


def record(host: RunningFaultHost, checks: Iterable[str], table: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the example of each check for which a fault shows one."""
    examples = {}
    for check in checks:
        for fault in list_faults(check, table)[:TRIED_FAULTS]:
            dialect = table[fault]["dialect"].split(", ")[0]
            finding = _find(host, check, fault, dialect)
            print(f"{check}: {fault} in {dialect}: {'found' if finding else 'nothing'}", flush=True)
            if finding is not None:
                shown = {name: finding[name][:LONGEST] for name in ("expected", "got", "where")}
                examples[check] = {"dialect": dialect, "fault": fault, "defect": table[fault]["line"], **shown}
                break
    return examples


def _find(host: RunningFaultHost, check: str, fault: str, dialect: str) -> dict[str, str] | None:
    """Return the first finding of a check in a run against the server with a fault."""
    secret = Secret(host.key) if load(dialect).auth == "bearer" else None
    options = RunOptions(url=host.address(dialect, fault), dialect=dialect, only=(check,), depth="thorough")
    try:
        outcome = asyncio.run(_judge(options, secret))
    except (HarnessError, UsageError) as error:  # the preflight may refuse a broken server
        print(f"{fault}: {error}", file=sys.stderr)
        return None
    rows = [row for row in outcome["requirements"] if row["check"] == check]
    return next((finding for row in rows for finding in row["findings"]), None)


async def _judge(options: RunOptions, secret: Secret | None) -> dict[str, Any]:
    return (await send(await prepare_server(options, secret), secret)).results


def main() -> None:
    """Write the file."""
    table = kill_table.read()["faults"]
    with start_fault_host() as host:
        examples = record(host, list_checks(), table)
    STORED.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(examples)} examples written to {STORED.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
