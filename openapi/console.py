"""A console for tables that survives a closed pipe, and tables that become blocks where a terminal is too narrow.

The console is wide when standard output is not a terminal.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType
    from rich.style import StyleType
    from rich.table import Column

DEFAULT_WIDTH: Final = 200
"""Columns when standard output is not a terminal and COLUMNS is unset; most table rows then fit on one line."""
LEAST_WIDTH: Final = 18
"""Characters that a column needs for its longer cells to be read without effort."""
VALUE_WIDTH: Final = 24
INDENT: Final = 2
UNLIMITED: Final = 10_000


class PipeSafeConsole(Console):
    """A console that stops printing when its reader closes the pipe; files and the exit code do not change."""

    def on_broken_pipe(self) -> None:
        """Discard all further output."""
        self.quiet = True
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def make_console() -> PipeSafeConsole:
    """Make a console for standard output, without automatic highlighting."""
    has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
    return PipeSafeConsole(highlight=False, width=None if has_width else DEFAULT_WIDTH)


@dataclass(frozen=True, slots=True)
class LegibleTable:
    """A table of Rich, or its rows as blocks: the first cells, and below them a line for each other one with words.

    heads: the number of cells that identify a row.
    by_value: whether a block lists each value once, with the columns that have it; for a table with a column for each
    of many things that are compared.
    """

    table: Table
    heads: int = 1
    by_value: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the table if no column is too narrow, and otherwise the blocks."""
        if self._least_width(console, options) <= options.max_width:
            yield self.table
            return
        if self.table.title:
            yield _as_text(self.table.title, self.table.title_style or "bold")
        columns = self.table.columns
        show = _list_by_value if self.by_value else _list_by_column
        for cells in zip(*(column.cells for column in columns), strict=True):
            yield Text(" ").join(_as_text(cell, "bold") for cell in cells[: self.heads])
            yield Padding(show(columns[self.heads :], cells[self.heads :]), (0, 0, 0, INDENT))

    def _least_width(self, console: Console, options: ConsoleOptions) -> int:
        """Return the width at which no column is narrower than its cells, or than what is legible."""
        columns, (_, right, _, left) = self.table.columns, self.table.padding
        edges = len(columns) + 1 if self.table.box else 0
        unlimited = options.update(max_width=UNLIMITED)
        widths = sum(_least_column_width(column, console, unlimited) for column in columns)
        return edges + len(columns) * (left + right) + widths


def _least_column_width(column: Column, console: Console, options: ConsoleOptions) -> int:
    """Return the width of the widest cell, or the least legible one; a column that does not wrap has the former."""
    cells = [column.header, *column.cells]
    widest = max(Measurement.get(console, options, cell).maximum for cell in cells)
    return widest if column.no_wrap else min(widest, LEAST_WIDTH)


def _list_by_column(columns: Sequence[Column], cells: Sequence[RenderableType]) -> Table:
    """Return a line for each cell that is not empty, behind the header of its column."""
    lines = Table.grid("", "", padding=(0, 2, 0, 0))
    lines.columns[0].no_wrap = True
    lines.columns[1].overflow = "fold"
    for column, cell in zip(columns, cells, strict=True):
        if _as_text(cell).plain:
            lines.add_row(_as_text(column.header, "dim"), _as_text(cell))
    return lines


def _list_by_value(columns: Sequence[Column], cells: Sequence[RenderableType]) -> Table:
    """Return a line for each value, with the headers of the columns that have it."""
    names: dict[str, list[str]] = defaultdict(list)
    for column, cell in zip(columns, cells, strict=True):
        names[_as_text(cell).plain].append(_as_text(column.header).plain)
    lines = Table.grid("", "", padding=(0, 2, 0, 0))
    lines.columns[0].overflow = lines.columns[1].overflow = "fold"
    lines.columns[0].max_width = VALUE_WIDTH
    for value, having in names.items():
        lines.add_row(Text(value or "-"), Text(", ".join(having), "dim"))
    return lines


def _as_text(cell: RenderableType, style: StyleType = "") -> Text:
    text = cell.copy() if isinstance(cell, Text) else Text.from_markup(str(cell))
    text.stylize(style)
    return text
