"""Rows of cells: the form in which all kinds of pages are represented before their cells are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Part = Literal["request", "response", "stream", "errors"]
DASHES: Final = frozenset("-–—－")
"""A cell with only a dash opens a nested level, or is empty."""
BLANKS: Final = frozenset({*DASHES, "/", "n/a", "na", "(none)", "not applicable", "无", "空", "不适用"})
"""Words of a cell that say that there is nothing to say, such as no default."""


@dataclass(frozen=True, slots=True)
class Item:
    """A paragraph of a cell, or an entry of a list in it. `depth`: 0 for a paragraph, 1 for an entry, 2 if nested."""

    text: str
    depth: int
    line: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a page, starting at `line`.

    lost: the layout of the page shows that its end is missing.
    tables: those inside the cell, of the type `TableGrid`, which describe fields.
    """

    items: tuple[Item, ...]
    line: int
    lost: bool = False
    tables: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """The text of all items, joined by spaces."""
        return " ".join(item.text for item in self.items)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One parameter or field. A cell is None if the table has no such column.

    path: the names that lead to it, outermost first.
    prose: its description.
    value: the requirements on its value, if the table has a column for them.
    others: the cells of unknown columns, by their headers.
    """

    part: Part
    path: tuple[str, ...]
    line: int
    type: Cell | None = None
    required: Cell | None = None
    prose: Cell | None = None
    value: Cell | None = None
    supported: bool = True
    others: tuple[tuple[str, Cell], ...] = ()


@dataclass(frozen=True, slots=True)
class UnreadPassage:
    """A passage that could not be turned into a row and that a person has to check: line, reason and text."""

    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a page, and the passages of its tables that could not be turned into rows."""

    form: str
    rows: tuple[TableRow, ...]
    unread: tuple[UnreadPassage, ...] = ()


def separate(form: str, results: list[TableRow | UnreadPassage]) -> Rows | None:
    """Separate rows from unread passages; return None without results."""
    rows = tuple(result for result in results if isinstance(result, TableRow))
    unread = tuple(result for result in results if isinstance(result, UnreadPassage))
    return Rows(form, rows, unread) if results else None


def is_blank(cell: Cell) -> bool:
    """Return whether a cell is empty, or says that there is nothing to say."""
    return cell.text.strip(" `").lower() in ("", *BLANKS)
