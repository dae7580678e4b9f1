"""Read tables with one cell per block, as they remain if only the text of a table is copied.

A row begins with a name in a block of its own; the next block is its `required` cell or its type. Row spans are lost: a
dash opens a nested level, and nothing closes it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.clauses import read_text
from openapi.reading.pages.columns import NO_PART, detect_part, parse_columns, read_required
from openapi.reading.pages.flattened.blocks import Block, join_blocks, split_blocks
from openapi.reading.pages.nesting import place_rows
from openapi.reading.pages.row import DASHES, Cell, Rows, TableRow, UnreadPassage, separate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.column_headers import Column
    from openapi.reading.pages.row import Part

FORM: Final = "one cell per line"
NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
MAX_COLUMNS: Final = 6
_ENDS: Final = re.compile(
    r"(?:使用|请求|响应|返回|输出)?(?:样例|示例|说明)\s*[::]?"
    r"|(?:(?:usage |request |response )?examples?|output (?:explanation|description))\s*[::]?"
    r"|(?:表|table)\s*\d+.*|(?:POST|GET) https?:.*|curl\b.*",
    re.IGNORECASE | re.DOTALL,
)


def read(text: str) -> Rows | None:
    """Read all rows of a page in this form; None if it has no such table."""
    blocks = split_blocks(text)
    results: list[TableRow | UnreadPassage] = []
    at = 0
    while at < len(blocks):
        columns = _read_header(blocks, at)
        if columns is None:
            at += 1
            continue
        start = end = at + len(columns)
        while end < len(blocks) and not _ENDS.fullmatch(blocks[end].text) and _read_header(blocks, end) is None:
            end += 1
        first_name = next((block.text for block in blocks[start:end]), "")
        heading = blocks[at - 1].text if at else ""
        part = detect_part(columns, [heading] if at else [], first_name)
        if part is None:
            results.append(UnreadPassage(blocks[at].line, NO_PART, heading))
        else:
            results += _rows(part, columns, blocks[start:end])
        at = end
    return separate(FORM, results)


def _read_header(blocks: Sequence[Block], at: int) -> tuple[Column, ...] | None:
    """Return the columns whose headers begin at a block, as many as possible."""
    for count in range(MAX_COLUMNS, 2, -1):
        headers = blocks[at : at + count]
        if len(headers) == count and all(len(block.items) == 1 for block in headers):
            columns = parse_columns([block.text for block in headers])
            if columns is not None and "support" not in columns:
                return columns
    return None


def _row_starts(blocks: Sequence[Block]) -> list[int]:
    """Return the indices of the names of rows: every bare name, except one right after another, which is a type."""
    starts: list[int] = []
    for at, block in enumerate(blocks):
        if NAME.fullmatch(block.text) and (not starts or at > starts[-1] + 1):
            starts.append(at)
    return starts


def _rows(part: Part, columns: Sequence[Column], blocks: Sequence[Block]) -> Iterator[TableRow | UnreadPassage]:
    starts = _row_starts(blocks)
    opens = [at > 0 and blocks[at - 1].text in DASHES for at in starts]
    if not starts or starts[0] > 0:
        for block in blocks[: starts[0] if starts else len(blocks)]:
            yield UnreadPassage(block.line, "it does not belong to a row", block.text)
    names = [(blocks[at].text, opening, blocks[at].line) for at, opening in zip(starts, opens, strict=True)]
    ends = [at - opening for at, opening in zip(starts, opens, strict=True)][1:] + [len(blocks)] * bool(starts)
    for start, end, path in zip(starts, ends, place_rows(names, part), strict=True):
        if isinstance(path, UnreadPassage):
            yield path
            continue
        second, *rest = blocks[start + 1 : end] or (blocks[start],)
        second_cell = Cell(second.items if end > start + 1 else (), second.line)
        prose, value = _split_value(rest, path[-1]) if "value" in columns else (rest, [])
        empty = Cell((), second.line)
        yield TableRow(
            part=part,
            path=path,
            line=blocks[start].line,
            type=second_cell if columns[1] == "type" else None,
            required=read_required({columns[1]: second_cell}),
            prose=join_blocks(prose, prose[0].line) if prose else empty,
            value=(join_blocks(value, value[0].line) if value else empty) if "value" in columns else None,
        )


def _split_value(blocks: Sequence[Block], name: str) -> tuple[Sequence[Block], Sequence[Block]]:
    """Split blocks into description and value. The value begins with a type or a list, or is the second of two blocks.

    If nothing shows where the value begins, all blocks are the value, so that all unread text in them is reported.
    """
    for at in range(1, len(blocks)):
        block = blocks[at]
        statements = read_text(block.items[0].text, name).statements
        if block.is_list or (statements and statements[0].attribute == "types"):
            return blocks[:at], blocks[at:]
    return (blocks[:1], blocks[1:]) if len(blocks) == 2 else ([], blocks)
