"""Compare two descriptions, and render the result for a terminal, as Markdown or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.markup import escape
from rich.table import Table

from openapi.description.differences import DescriptionDifference, Effect, find_differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

COLUMNS: Final = ("part", "place", "what", "before", "after")
STYLES: Final = {Effect.BREAKING: "red", Effect.WIDENING: "green", Effect.NEUTRAL: "default"}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two descriptions: its dialect, and the vendor document and version that it describes."""

    dialect: str
    document: str
    version: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences for a client of `before` that sends its requests to a server of `after`."""

    before: Side
    after: Side
    differences: tuple[DescriptionDifference, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Number of differences by effect, the most severe effect first."""
        by_effect = Counter(difference.effect for difference in self.differences)
        return {str(effect): by_effect[effect] for effect in Effect}

    @property
    def headline(self) -> str:
        """Both sides and the counts, on one line."""
        counts = ", ".join(f"{count} {effect}" for effect, count in self.counts.items())
        return f"{self.before.dialect} -> {self.after.dialect}: {counts if self.differences else 'no differences'}"


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Compare two descriptions."""
    return Comparison(_side(before), _side(after), find_differences(before, after))


def render_tables(comparison: Comparison) -> Iterator[Table]:
    """Render one table per effect for a terminal. Long cells are wrapped, never truncated."""
    for effect, differences in _by_effect(comparison):
        title = f"{effect.capitalize()}: {len(differences)}"
        table = Table(title=title, title_justify="left", title_style=f"bold {STYLES[effect]}")
        for name in COLUMNS:
            table.add_column(name, overflow="fold")
        for difference in differences:
            table.add_row(*map(escape, _cells(difference)))
        yield table


def render_markdown(comparison: Comparison) -> str:
    """Render a Markdown page with one section per effect."""
    lines = [f"# {comparison.headline}"]
    for effect, differences in _by_effect(comparison):
        lines += ["", f"## {effect.capitalize()}", "", markdown_row(COLUMNS), markdown_row(["---"] * len(COLUMNS))]
        lines += [markdown_row(_cells(difference)) for difference in differences]
    return "\n".join(lines) + "\n"


def render_json(comparison: Comparison) -> str:
    """Render one JSON object."""
    result = {
        "before": asdict(comparison.before),
        "after": asdict(comparison.after),
        "counts": comparison.counts,
        "differences": [asdict(difference) for difference in comparison.differences],
    }
    return json.dumps(result, ensure_ascii=False, indent=2) + "\n"


def markdown_row(cells: Iterable[str]) -> str:
    """Format one row of a Markdown table, with bars in cells escaped."""
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _by_effect(comparison: Comparison) -> Iterator[tuple[Effect, list[DescriptionDifference]]]:
    """Yield each effect that occurs, with its differences."""
    for effect in Effect:
        differences = [difference for difference in comparison.differences if difference.effect is effect]
        if differences:
            yield effect, differences


def _cells(difference: DescriptionDifference) -> tuple[str, ...]:
    return difference.part, difference.place, difference.what, difference.before, difference.after


def _side(document: Mapping[str, Any]) -> Side:
    info = document["info"]
    return Side(info["x-dialect"], info["x-document"], info["version"])
