"""Cells of lines, and what a cell says, by member."""

from __future__ import annotations

from typing import Any

from openapi.reading.facts.cells import read_cell
from openapi.reading.grammar.interval import Interval, Range
from openapi.reading.pages.row import Cell, Item

Said = dict[str, Any]


def cell(*lines: str) -> Cell:
    """A cell of paragraphs; a line that begins with `- ` is an entry of a list, one with `-- ` lies inside it."""
    depths = [len(line) - len(line.lstrip("-")) if line.startswith(("- ", "-- ")) else 0 for line in lines]
    return Cell(tuple(Item(line.lstrip("-").strip(), depth, 1) for line, depth in zip(lines, depths, strict=True)), 1)


def said(*lines: str, name: str = "p", prose: bool = False) -> Said:
    """Everything that a cell says, by member; `[].length` is that of its elements."""
    pieces = read_cell(cell(*lines), name, prose=prose).pieces
    found: Said = {}
    for piece in pieces:
        key = f"{piece.at}.{piece.attribute}" if piece.at else piece.attribute
        assert key not in found or found[key] == piece.value, f"{key} is said twice"
        found[key] = piece.value
    return found


def one(low: Any = None, high: Any = None, low_open: bool | None = False, high_open: bool | None = False) -> Range:
    return (Interval(low, high, low_open, high_open),)
