"""Compare two results documents: which requirements got worse, which got better, which are new or gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from conformance.report.writers.terminal import STYLES, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

WORSE: Final = "worse"
BETTER: Final = "better"
OTHER: Final = "other"
BAD: Final = ("FAIL", "ERROR", "UNTESTABLE", "WARN")
MAX_FINDING: Final = 120
"""Characters of a finding in the table."""


@dataclass(frozen=True, slots=True)
class OutcomeChange:
    """A requirement whose outcome changed. An empty outcome means that the requirement was not judged in that run."""

    id: str
    before: str
    after: str
    kind: str
    seen: str


def compare_results(before: dict[str, Any], after: dict[str, Any]) -> Iterator[OutcomeChange]:
    """Yield every changed outcome, in the order of the requirements.

    A change is worse if the requirement now fails the run and did not before, or if its outcome has become a bad one;
    better is the reverse.
    """
    old = {row["id"]: row for row in before["requirements"]}
    new = {row["id"]: row for row in after["requirements"]}
    for identity in dict.fromkeys([*old, *new]):
        old_row, new_row = old.get(identity), new.get(identity)
        old_outcome, new_outcome = (row["outcome"] if row else "" for row in (old_row, new_row))
        if old_outcome == new_outcome:
            continue
        old_rank, new_rank = (_rank(row) for row in (old_row, new_row))
        kind = WORSE if new_rank > old_rank else BETTER if new_rank < old_rank else OTHER
        findings = (new_row or old_row or {}).get("findings") or []
        seen = f"expected {findings[0]['expected']}, got {findings[0]['got']}" if findings else ""
        yield OutcomeChange(identity, old_outcome, new_outcome, kind, seen)


def _rank(row: dict[str, Any] | None) -> tuple[bool, bool]:
    """Return a sort key that is higher for worse outcomes."""
    return bool(row and row["fails"]), bool(row and row["outcome"] in BAD)


def make_table(changes: list[OutcomeChange]) -> Table:
    """Return the changes as a table, the worse ones first."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "requirement", "before", "after", "finding"):
        table.add_column(name, overflow="fold")
    styles = {WORSE: "bold red", BETTER: "green", OTHER: "dim"}
    for change in sorted(changes, key=lambda change: (WORSE, OTHER, BETTER).index(change.kind)):
        outcomes = [
            Text(outcome.lower() or "not judged", STYLES.get(outcome, "dim"))
            for outcome in (change.before, change.after)
        ]
        seen = Text(sanitize(change.seen, MAX_FINDING))
        table.add_row(Text(change.kind, styles[change.kind]), Text(sanitize(change.id)), *outcomes, seen)
    return table
