"""A comparison of two descriptions, for a terminal, a page or a program."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.markup import escape
from rich.table import Table

from openapi.description.differences import Difference, Effect, differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

COLUMNS: Final = ("part", "place", "what", "before", "after")
STYLES: Final = {Effect.BREAKING: "red", Effect.WIDENING: "green", Effect.NEUTRAL: "default"}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two descriptions: its dialect, and the document with its version that it was made from."""

    dialect: str
    document: str
    version: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changes for a client of `before` that meets `after`."""

    before: Side
    after: Side
    differences: tuple[Difference, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many differences have each effect, the worst first."""
        found = Counter(difference.effect for difference in self.differences)
        return {str(effect): found[effect] for effect in Effect}

    @property
    def headline(self) -> str:
        """Both sides and the counts in one line."""
        counts = ", ".join(f"{count} {effect}" for effect, count in self.counts.items())
        return f"{self.before.dialect} -> {self.after.dialect}: {counts if self.differences else 'no difference'}"


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Holds one description against another."""
    return Comparison(_side(before), _side(after), differences(before, after))


def tables(comparison: Comparison) -> Iterator[Table]:
    """For a terminal: a table for each effect that occurs. Nothing is cut off; long cells are folded."""
    for effect in Effect:
        found = [difference for difference in comparison.differences if difference.effect is effect]
        if found:
            title = f"{effect.capitalize()}: {len(found)}"
            drawn = Table(title=title, title_justify="left", title_style=f"bold {STYLES[effect]}")
            for name in COLUMNS:
                drawn.add_column(name, overflow="fold")
            for each in found:
                drawn.add_row(*map(escape, _cells(each)))
            yield drawn


def markdown(comparison: Comparison) -> str:
    """For a page: a section for each effect that occurs."""
    lines = [f"# {comparison.headline}"]
    for effect in Effect:
        found = [difference for difference in comparison.differences if difference.effect is effect]
        if found:
            lines += ["", f"## {effect.capitalize()}", "", row(COLUMNS), row(["---"] * len(COLUMNS))]
            lines += [row(_cells(each)) for each in found]
    return "\n".join(lines) + "\n"


def text(comparison: Comparison) -> str:
    """For a program: one JSON object."""
    shown = {
        "before": asdict(comparison.before),
        "after": asdict(comparison.after),
        "counts": comparison.counts,
        "differences": [asdict(difference) for difference in comparison.differences],
    }
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


def row(cells: Iterable[str]) -> str:
    """One row of a Markdown table; what would end a cell is escaped."""
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _cells(difference: Difference) -> tuple[str, ...]:
    return difference.part, difference.place, difference.what, difference.before, difference.after


def _side(document: Mapping[str, Any]) -> Side:
    info = document["info"]
    return Side(info["x-dialect"], info["x-document"], info["version"])
