"""Tables flattened to `cell |` lines: every cell ends with a bar, and a row ends when it has all its bars.

Row spans are lost: a dash in the first cell opens a level, and nothing closes it. Lists inside cells are lost too,
which shows where the bars that end a row stand on a line of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openapi.reading.pages.columns import columns, part
from openapi.reading.pages.nesting import DASHES, place
from openapi.reading.pages.row import Cell, Item, Left, Row, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.columns import Column
    from openapi.reading.pages.row import Part

    Raw = tuple[Cell, ...]  # the cells of one row as they stand between bars

FORM = "tables flattened to `cell |` lines"
_RULE = re.compile(r"\|?(?:\s*:?-{3,}:?\s*\|)+\s*(?::?-{3,}:?)?\s*")


def read(text: str) -> Rows | None:
    """All rows of a page in this form; None when it has no such table."""
    lines = text.split("\n")
    rows: list[Row] = []
    left: list[Left] = []
    for at, line in enumerate(lines):
        if not _RULE.fullmatch(line) or at == 0 or not lines[at - 1].rstrip().endswith("|"):
            continue
        bars = line.count("-|") + (not line.rstrip().endswith("|"))
        header, heading = _header(lines, at, bars)
        found = columns([cell.text for cell in header])
        if found is None:
            continue
        raws, torn = _split(lines, at + 1, bars)
        left += torn
        this = part(found, [heading], raws[0][0].text if raws else "")
        if this is None:
            left.append(Left(at, "neither columns nor heading tell which part this table describes", heading))
            continue
        for row in _rows(this, found, raws):
            (rows if isinstance(row, Row) else left).append(row)  # type: ignore[arg-type]
    return Rows(FORM, tuple(rows), tuple(left)) if rows or left else None


def _header(lines: Sequence[str], rule: int, bars: int) -> tuple[tuple[Cell, ...], str]:
    """The header's cells, which end above the rule, and the line above them."""
    start, count = rule, 0
    while start > 0 and count < bars:
        start -= 1
        if "|" in lines[start].rstrip("| ") or not lines[start].rstrip().endswith("|"):
            start += 1
            break
        count += lines[start].count("|")
    heading = next((line.strip() for line in reversed(lines[:start]) if line.strip()), "")
    cells = [cell for cell in _cells("\n".join(lines[start:rule]), start + 1) if cell.items]
    return tuple(cells), heading


def _cells(text: str, line: int) -> Iterator[Cell]:
    """What stands before each bar."""
    for words in text.split("|"):
        begin = line + len(words[: len(words) - len(words.lstrip())].split("\n")) - 1
        items = tuple(
            Item(" ".join(each.split()), 0, begin + at)
            for at, each in enumerate(words.strip().split("\n"))
            if each.strip()
        )
        yield Cell(items, begin, lost=bool(items) and words.rstrip(" ").endswith("\n"))
        line += words.count("\n")


def _split(lines: Sequence[str], start: int, bars: int) -> tuple[list[Raw], list[Left]]:
    """The rows below the rule. The first cell of a row is one line; a line that ends no cell there ends the table."""
    raws: list[Raw] = []
    at = start
    while at < len(lines) and lines[at].rstrip().endswith("|"):
        begin, count = at, 0
        while at < len(lines) and count < bars:
            count += lines[at].count("|")
            at += 1
        if count != bars:
            return raws, [Left(begin + 1, f"the row has {count} bars where the table has {bars}", lines[begin])]
        raws.append(tuple(_cells("\n".join(lines[begin:at]), begin + 1)))
        while at < len(lines) and not lines[at].strip():
            at += 1
    return raws, []


def _rows(this: Part, found: Sequence[Column], raws: Sequence[Raw]) -> Iterator[Row | Left]:
    opens = [raw[0].text in DASHES for raw in raws]
    cells = [raw[opening:] for raw, opening in zip(raws, opens, strict=True)]
    names = [(each[0].text, opening, each[0].line) for each, opening in zip(cells, opens, strict=True)]
    for each, path in zip(cells, place(names, this), strict=True):
        if isinstance(path, Left):
            yield path
            continue
        by_column = dict(zip(found, each, strict=False))
        yield Row(
            part=this,
            path=path,
            line=each[0].line,
            type=by_column.get("type"),
            required=by_column.get("required"),
            prose=by_column.get("prose"),
            value=by_column.get("value"),
        )
