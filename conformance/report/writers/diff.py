"""The difference of two results: what got worse, what got better, what is new and what is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from conformance.report.writers.terminal import STYLES, safe

if TYPE_CHECKING:
    from collections.abc import Iterator

WORSE: Final = "worse"
BETTER: Final = "better"
OTHER: Final = "other"
BAD: Final = ("FAIL", "ERROR", "UNTESTABLE", "WARN")


@dataclass(frozen=True, slots=True)
class Moved:
    """A requirement whose outcome moved. An empty word: it was not judged on that side."""

    id: str
    before: str
    after: str
    kind: str
    seen: str


def moved(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Moved]:
    """What moved between two results, in the order of the requirements.

    Worse is what fails now and did not, or what has come to a bad word; better the reverse.
    """
    old = {row["id"]: row for row in before["requirements"]}
    new = {row["id"]: row for row in after["requirements"]}
    for identity in dict.fromkeys([*old, *new]):
        one, two = old.get(identity), new.get(identity)
        words = [row["outcome"] if row else "" for row in (one, two)]
        if words[0] == words[1]:
            continue
        ranks = [(bool(row and row["fails"]), bool(row and row["outcome"] in BAD)) for row in (one, two)]
        kind = WORSE if ranks[1] > ranks[0] else BETTER if ranks[1] < ranks[0] else OTHER
        found = (two or one or {}).get("findings") or []
        seen = f"expected {found[0]['expected']}, got {found[0]['got']}" if found else ""
        yield Moved(identity, words[0], words[1], kind, seen)


def table(rows: list[Moved]) -> Table:
    """What moved as a table, the worse first."""
    shown = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "requirement", "before", "after", "seen"):
        shown.add_column(name, overflow="fold")
    styles = {WORSE: "bold red", BETTER: "green", OTHER: "dim"}
    for row in sorted(rows, key=lambda each: (WORSE, OTHER, BETTER).index(each.kind)):
        words = [Text(word.lower() or "not judged", STYLES.get(word, "dim")) for word in (row.before, row.after)]
        shown.add_row(Text(row.kind, styles[row.kind]), Text(safe(row.id)), *words, Text(safe(row.seen, 120)))
    return shown
