"""The kill table: the committed results of the last complete fault run, and the few rows that test every check."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Set

    from conformance.proof.kill_matrix import FaultRow

KILL_TABLE: Final = Path(str(files("conformance.proof"))) / "kills.json"

EXCUSED: Final[Mapping[str, str]] = {}
"""Checks that no fault of the reference server can violate, and faults that no check can detect, each with the reason.

An entry that is no longer needed makes the fault run fail.
"""


@cache
def read() -> dict[str, Any]:
    """Return the content of the file that `chatproof faults run --write` writes."""
    content: dict[str, Any] = json.loads(KILL_TABLE.read_text(encoding="utf-8"))
    return content


def choose_fewest(rows: Collection[FaultRow]) -> frozenset[str]:
    """Return the names of few faults among these, of which every check detects one when they are verified.

    The choice is greedy: next is the fault that covers most of the remaining checks for each of its scenarios. Faults
    that chance can hide are chosen only for checks that detect no others. Variations are not chosen.
    """
    chosen: set[str] = set()
    covered: set[str] = set()
    for flaky in (False, True):
        candidates = sorted((row for row in rows if not row.benign and row.flaky is flaky), key=lambda row: row.name)
        remaining = {check for row in candidates for check in row.verifying_checks} - covered
        while remaining:
            best = max(candidates, key=lambda row: _value_of(row, remaining))
            chosen.add(best.name)
            covered |= best.verifying_checks
            remaining -= best.verifying_checks
    return frozenset(chosen)


def _value_of(row: FaultRow, remaining: Set[str]) -> float:
    """Return how many of the remaining checks a fault covers for each scenario; one more stands for other costs."""
    return len(row.verifying_checks & remaining) / (1 + len(row.verifying_scenarios))
