"""Helpers that make cells from lines, and collect the statements of a cell."""

from __future__ import annotations

from typing import Any

from openapi.reading.facts.cells import read_cell
from openapi.reading.grammar.interval import Interval, Range
from openapi.reading.pages.row import Cell, Item

Statements = dict[str, Any]


def cell(*lines: str) -> Cell:
    """Make a cell of paragraphs; lines that begin with `- ` are list entries, and with `-- ` nested entries."""
    depths = [len(line) - len(line.lstrip("-")) if line.startswith(("- ", "-- ")) else 0 for line in lines]
    return Cell(tuple(Item(line.lstrip("-").strip(), depth, 1) for line, depth in zip(lines, depths, strict=True)), 1)


def stated(*lines: str, name: str = "p", prose: bool = False) -> Statements:
    """Return the statements of a cell by attribute; `[].length` is the length of its elements."""
    statements = read_cell(cell(*lines), name, prose=prose).statements
    collected: Statements = {}
    for statement in statements:
        key = f"{statement.at}.{statement.attribute}" if statement.at else statement.attribute
        assert key not in collected or collected[key] == statement.value, f"{key} is stated twice"
        collected[key] = statement.value
    return collected


def one(low: Any = None, high: Any = None, low_open: bool | None = False, high_open: bool | None = False) -> Range:
    return (Interval(low, high, low_open, high_open),)
