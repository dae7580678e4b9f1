"""Compare two results documents: which requirements got worse or better, which are no longer judged, which are new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from conformance.report.writers.terminal_text import STYLES, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORSE: Final = "worse"
LOST: Final = "lost"
OTHER: Final = "other"
BETTER: Final = "better"
KINDS: Final = (WORSE, LOST, OTHER, BETTER)
BAD: Final = ("FAIL", "ERROR", "UNTESTABLE", "WARN")
UNJUDGED: Final = ("UNTESTABLE", "NOT_EXERCISED", "NOT_APPLICABLE")
MAX_REASON: Final = 120
"""Characters of a finding or note in the table."""
WIDE: Final = 120
"""Columns of a terminal in which names of requirements, outcomes and findings fit next to each other."""
INDENT: Final = 7
KIND_STYLES: Final = {WORSE: "bold red", LOST: "red", BETTER: "green", OTHER: "dim"}


@dataclass(frozen=True, slots=True)
class OutcomeChange:
    """A requirement whose outcome changed. An empty outcome means that the requirement was not part of that run.

    reason: the first finding, or why the requirement is no longer judged.
    """

    id: str
    before: str
    after: str
    kind: str
    reason: str


def compare_results(before: dict[str, Any], after: dict[str, Any]) -> Iterator[OutcomeChange]:
    """Yield every changed outcome, in the order of the requirements.

    - lost: the requirement was judged before and is not judged now, whatever its outcome was;
    - worse: it now fails the run and did not before, or its outcome has become a bad one;
    - better: the reverse of worse;
    - other: everything else, such as a new requirement that passes.
    """
    old = {row["id"]: row for row in before["requirements"]}
    new = {row["id"]: row for row in after["requirements"]}
    for identity in dict.fromkeys([*old, *new]):
        old_row, new_row = old.get(identity), new.get(identity)
        old_outcome, new_outcome = (row["outcome"] if row else "" for row in (old_row, new_row))
        if (old_outcome, _is_judged(old_row)) != (new_outcome, _is_judged(new_row)):
            yield OutcomeChange(identity, old_outcome, new_outcome, _kind(old_row, new_row), _reason(old_row, new_row))


def _kind(old: dict[str, Any] | None, new: dict[str, Any] | None) -> str:
    if _is_judged(old) and not _is_judged(new) and not (new and new["outcome"] == "ERROR"):
        return LOST
    before, after = _rank(old), _rank(new)
    return WORSE if after > before else BETTER if after < before else OTHER


def _is_judged(row: dict[str, Any] | None) -> bool:
    """Return whether an exchange showed the requirement. The rows of waivers rest on no exchange."""
    if row is None or row["outcome"] in (*UNJUDGED, "ERROR"):
        return False
    return row["outcome"] != "OBSERVED" or bool(row["exchanges"])


def _rank(row: dict[str, Any] | None) -> tuple[bool, bool]:
    """Return a sort key that is higher for worse outcomes."""
    return bool(row and row["fails"]), bool(row and row["outcome"] in BAD)


def _reason(old: dict[str, Any] | None, new: dict[str, Any] | None) -> str:
    if new is None:
        return "not part of the second run"
    findings = new["findings"] or (old or {}).get("findings") or []
    if findings and _is_judged(new):
        return f"expected {findings[0]['expected']}, got {findings[0]['got']}"
    return str(new["note"])


def make_tables(changes: Sequence[OutcomeChange], width: int = WIDE) -> Iterator[Table | Group]:
    """Yield the requirements that are no longer judged, and before them the other changes, the worse ones first.

    width: of the terminal. One that is not wide enough for a table with names of requirements gets lines.
    """
    others = sorted((change for change in changes if change.kind != LOST), key=lambda change: KINDS.index(change.kind))
    show = _table if width >= WIDE else _lines
    if others:
        yield show(others, "finding")
    if lost := [change for change in changes if change.kind == LOST]:
        yield show(lost, "why it is no longer judged")


def _table(changes: Sequence[OutcomeChange], last_column: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "requirement", "before", "after", last_column):
        table.add_column(name, overflow="fold")
    for change in changes:
        reason = Text(sanitize(change.reason, MAX_REASON))
        before, after = _outcomes(change)
        table.add_row(Text(change.kind, KIND_STYLES[change.kind]), Text(sanitize(change.id)), before, after, reason)
    return table


def _lines(changes: Sequence[OutcomeChange], _last_column: str) -> Group:
    """Return two lines for each change: the requirement with its outcomes, and the reason below it."""
    lines: list[Text | Padding] = []
    for change in changes:
        before, after = _outcomes(change)
        kind = (f"{change.kind:<{INDENT}}", KIND_STYLES[change.kind])
        lines.append(Text.assemble(kind, f"{sanitize(change.id)}: ", before, " -> ", after))
        lines.append(Padding(Text(sanitize(change.reason, MAX_REASON), "dim"), (0, 0, 0, INDENT)))
    return Group(*lines)


def _outcomes(change: OutcomeChange) -> tuple[Text, Text]:
    before, after = (
        Text(outcome.lower().replace("_", " ") or "missing", STYLES.get(outcome, "dim"))
        for outcome in (change.before, change.after)
    )
    return before, after
