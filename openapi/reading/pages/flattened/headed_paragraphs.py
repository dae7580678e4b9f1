"""Read pages with one block per cell under headings, without the empty cells.

The page of the OpenVINO Model Server has this form as text: names with dots, types with a remark in brackets, marks of
support between the two, and lists of unsupported parameters.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.columns import NO_PART, find_named_part, parse_columns
from openapi.reading.pages.flattened.blocks import Block, join_blocks, split_blocks
from openapi.reading.pages.row import Cell, Rows, TableRow, UnreadPassage, separate
from openapi.reading.pages.unsupported_lists import announces_unsupported, read_unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.row import Part

FORM: Final = "headed paragraphs"
NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_HEADING: Final = re.compile(r"(.*\S)\s*[#¶]")
_MARK: Final = re.compile(r"[^\w\s]{1,3}")
MAX_COLUMNS: Final = 8


def read(text: str) -> Rows | None:
    """Read all rows of a page in this form; None if no heading has parameters below it."""
    blocks = split_blocks(text)
    heads = [at for at, block in enumerate(blocks) if len(block.items) == 1 and _HEADING.fullmatch(block.text)]
    results: list[TableRow | UnreadPassage] = []
    part_heading = ""  # the last heading that names a part
    for at, end in pairwise([*heads, len(blocks)]):
        heading = blocks[at].text.rstrip("#¶ ")
        part_heading = heading if find_named_part([heading]) else part_heading
        part = find_named_part([part_heading])
        body = blocks[at + 1 : end]
        width = _header_width(body)
        if width == 0 and not announces_unsupported(heading):
            continue
        if part is None:
            results.append(UnreadPassage(blocks[at].line, NO_PART, heading))
            continue
        entries = [item for block in body if block.is_list for item in block.items]
        results += _rows(part, body[width:]) if width else read_unsupported(part, entries)
    return separate(FORM, results)


def _header_width(body: Sequence[Block]) -> int:
    """Return the number of blocks at the start of a section that are headers of its table; 0 if it has no table."""
    for count in range(min(MAX_COLUMNS, len(body)), 2, -1):
        if parse_columns([block.text for block in body[:count]]) is not None:
            return count
    return 0


def _rows(part: Part, body: Sequence[Block]) -> Iterator[TableRow | UnreadPassage]:
    """Yield the rows: each begins at a bare name; marks of support are between the name and the type."""
    starts: list[int] = []
    for at, block in enumerate(body):
        if NAME.fullmatch(block.text) and (not starts or at > _type_index(body, starts[-1])):
            starts.append(at)
    for block in body[: starts[0] if starts else len(body)]:
        yield UnreadPassage(block.line, "it does not belong to a row", block.text)
    for start, end in pairwise([*starts, len(body)]):
        at = _type_index(body, start)
        rest = body[at + 1 : end]
        type_items = body[at].items if at < end else ()
        line = body[start].line
        yield TableRow(
            part=part,
            path=tuple(body[start].text.split(".")),
            line=line,
            type=Cell(type_items, type_items[0].line if type_items else line),
            prose=join_blocks(rest, rest[0].line if rest else line),
        )


def _type_index(body: Sequence[Block], start: int) -> int:
    """Return the index of the type of the row that begins at `start`, after its name and its marks of support."""
    at = start + 1
    while at < len(body) and _MARK.fullmatch(body[at].text):
        at += 1
    return at
