"""Rows: what every form of page is turned into before a single cell is understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["request", "response", "stream", "errors"]


@dataclass(frozen=True, slots=True)
class Item:
    """One paragraph of a cell, or one entry of a list in it. `depth`: 0 a paragraph, 1 an entry, 2 one inside it."""

    text: str
    depth: int
    line: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a page, from `line` on. `lost`: the page's own form shows that something is missing at its end."""

    items: tuple[Item, ...]
    line: int
    lost: bool = False

    @property
    def text(self) -> str:
        """All of it, for the eye."""
        return " ".join(item.text for item in self.items)


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter or field. `path`: the names that lead to it, outermost first. None: the table has no such column.

    `prose` holds what describes it in words, `value` what a column of its own demands of the value.
    """

    part: Part
    path: tuple[str, ...]
    line: int
    type: Cell | None = None
    required: Cell | None = None
    prose: Cell | None = None
    value: Cell | None = None
    supported: bool = True


@dataclass(frozen=True, slots=True)
class Left:
    """Something that is left to a person: where, what about it, and the words."""

    line: int
    why: str
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a page, and what of its tables could not be turned into rows."""

    form: str
    rows: tuple[Row, ...]
    left: tuple[Left, ...] = ()
