"""Read tables that were flattened to `cell |` lines: every cell ends with a bar, and a row with its last bar.

Row spans are lost: a dash in the first cell opens a nested level, and nothing closes it. Lists inside cells are lost
too; a bar on a line of its own at the end of a row shows that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openapi.reading.pages.columns import NO_PART, detect_part, parse_columns, read_required, read_value
from openapi.reading.pages.nesting import place_rows
from openapi.reading.pages.row import DASHES, Cell, Item, Rows, TableRow, UnreadPassage, separate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.column_headers import Column
    from openapi.reading.pages.row import Part

    RawRow = tuple[Cell, ...]  # the cells of one row in the order of the bars

FORM = "tables flattened to `cell |` lines"
_RULE = re.compile(r"\|?(?:\s*:?-{3,}:?\s*\|)+\s*(?::?-{3,}:?)?\s*")


def read(text: str) -> Rows | None:
    """Read all rows of a page in this form; None if it has no such table."""
    lines = text.split("\n")
    results: list[TableRow | UnreadPassage] = []
    for at, line in enumerate(lines):
        if not _RULE.fullmatch(line) or at == 0 or not lines[at - 1].rstrip().endswith("|"):
            continue
        bars = line.count("-|") + (not line.rstrip().endswith("|"))
        header, heading = _read_header(lines, at, bars)
        columns = parse_columns([cell.text for cell in header])
        if columns is None:
            continue
        raw_rows, incomplete = _split_rows(lines, at + 1, bars)
        results += incomplete
        part = detect_part(columns, [heading], raw_rows[0][0].text if raw_rows else "")
        if part is None:
            results.append(UnreadPassage(at, NO_PART, heading))
            continue
        results += _rows(part, columns, raw_rows)
    return separate(FORM, results)


def _read_header(lines: Sequence[str], rule: int, bars: int) -> tuple[tuple[Cell, ...], str]:
    """Return the cells of the header, which ends above the rule, and the line above the header."""
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
    """Yield the text before each bar as a cell."""
    for words in text.split("|"):
        begin = line + len(words[: len(words) - len(words.lstrip())].split("\n")) - 1
        items = tuple(
            Item(" ".join(paragraph.split()), 0, begin + at)
            for at, paragraph in enumerate(words.strip().split("\n"))
            if paragraph.strip()
        )
        yield Cell(items, begin, lost=bool(items) and words.rstrip(" ").endswith("\n"))
        line += words.count("\n")


def _split_rows(lines: Sequence[str], start: int, bars: int) -> tuple[list[RawRow], list[UnreadPassage]]:
    """Split the lines below the rule into rows. The first cell of a row is one line; any other line ends the table."""
    rows: list[RawRow] = []
    at = start
    while at < len(lines) and lines[at].rstrip().endswith("|"):
        begin, count = at, 0
        while at < len(lines) and count < bars:
            count += lines[at].count("|")
            at += 1
        if count != bars:
            reason = f"the row has {count} bars, but the table has {bars}"
            return rows, [UnreadPassage(begin + 1, reason, lines[begin])]
        rows.append(tuple(_cells("\n".join(lines[begin:at]), begin + 1)))
        while at < len(lines) and not lines[at].strip():
            at += 1
    return rows, []


def _rows(part: Part, columns: Sequence[Column], raw_rows: Sequence[RawRow]) -> Iterator[TableRow | UnreadPassage]:
    opens = [row[0].text in DASHES for row in raw_rows]
    rows = [row[opening:] for row, opening in zip(raw_rows, opens, strict=True)]
    names = [(row[0].text, opening, row[0].line) for row, opening in zip(rows, opens, strict=True)]
    for row, path in zip(rows, place_rows(names, part), strict=True):
        if isinstance(path, UnreadPassage):
            yield path
            continue
        by_column = dict(zip(columns, row, strict=False))
        yield TableRow(
            part=part,
            path=path,
            line=row[0].line,
            type=by_column.get("type"),
            required=read_required(by_column),
            prose=by_column.get("prose"),
            value=read_value(by_column),
        )
