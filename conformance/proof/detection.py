"""Count by group how many faults of an origin the suite detects. Pure."""

from __future__ import annotations

from statistics import mean, median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.proof.fault_host import HostedFault
    from conformance.proof.kill_matrix import FaultRow

FAIL = "fail"
WARNING = "warning"
NOTHING = "nothing"
OUTCOMES = (FAIL, WARNING, NOTHING)


def outcome_of(row: FaultRow) -> str:
    """Return how strongly a fault is detected; a MAY is only observed and does not count."""
    strengths = set(row.killers.values())
    return FAIL if "M" in strengths else WARNING if "S" in strengths else NOTHING


def count_by_group(faults: Iterable[HostedFault], rows: Sequence[FaultRow]) -> dict[str, dict[str, int]]:
    """Return the number of faults with each outcome, by group; for variations, `nothing` is what is expected."""
    groups = {fault.name: fault.group for fault in faults}
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(groups[row.name], dict.fromkeys(OUTCOMES, 0))[outcome_of(row)] += 1
    return counts


def count_findings(rows: Sequence[FaultRow]) -> tuple[float, float]:
    """Return the median and the mean number of findings of the detected faults; both are 0 without any."""
    numbers = [row.findings for row in rows if row.findings and not row.benign]
    return (median(numbers), mean(numbers)) if numbers else (0.0, 0.0)


def to_data(
    faults: Iterable[HostedFault], rows: Sequence[FaultRow], false_positives: Iterable[str]
) -> Mapping[str, Any]:
    """Return the result of each fault and the counts of the groups as plain data."""
    groups = {fault.name: fault.group for fault in faults}
    return {
        "groups": count_by_group(faults, rows),
        "faults": {
            row.name: {
                "group": groups[row.name],
                "line": row.line,
                "dialect": row.dialect,
                "benign": row.benign,
                "outcome": outcome_of(row),
                "killed_by": dict(sorted(row.killers.items())),
                "findings": row.findings,
            }
            for row in rows
        },
        "false_positives": list(false_positives),
    }
