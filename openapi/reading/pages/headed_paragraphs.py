"""Headed paragraphs: under a heading, a block for each cell, of which the empty ones are gone.

The form of the OpenVINO Model Server's page as text: names with dots, a type with what it says in brackets, marks of
support between the two, and lists of what is not supported.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.blocks import Block, blocks, cell
from openapi.reading.pages.columns import columns, part
from openapi.reading.pages.row import Cell, Left, Row, Rows
from openapi.reading.pages.unsupported_lists import lists_unsupported, unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.row import Part

FORM: Final = "headed paragraphs"
NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_HEADING: Final = re.compile(r"(.*\S)\s*[#¶]")
_MARK: Final = re.compile(r"[^\w\s]{1,3}")
MOST_COLUMNS: Final = 8


def read(text: str) -> Rows | None:
    """All rows of a page in this form; None when it has no headings, or none with parameters below it."""
    found = blocks(text)
    heads = [at for at, block in enumerate(found) if len(block.items) == 1 and _HEADING.fullmatch(block.text)]
    rows: list[Row] = []
    left: list[Left] = []
    over = ""  # the last heading that names a part
    for at, end in pairwise([*heads, len(found)]):
        heading = found[at].text.rstrip("#¶ ")
        over = heading if part((), [heading], "") else over
        this = part((), [over], "")
        body = found[at + 1 : end]
        width = _header(body)
        if width == 0 and not lists_unsupported(heading):
            continue
        if this is None:
            left.append(Left(found[at].line, "no heading tells which part this describes", heading))
            continue
        entries = [item for block in body if block.is_list for item in block.items]
        for row in _rows(this, body[width:]) if width else unsupported(this, entries):
            (rows if isinstance(row, Row) else left).append(row)  # type: ignore[arg-type]
    return Rows(FORM, tuple(rows), tuple(left)) if rows or left else None


def _header(body: Sequence[Block]) -> int:
    """How many blocks at the beginning of a section are headers of its table; 0: it has none."""
    for count in range(min(MOST_COLUMNS, len(body)), 2, -1):
        if columns([block.text for block in body[:count]]) is not None:
            return count
    return 0


def _rows(this: Part, body: Sequence[Block]) -> Iterator[Row | Left]:
    """A row begins at every bare name; marks of support stand between it and the type."""
    starts: list[int] = []
    for at, block in enumerate(body):
        if NAME.fullmatch(block.text) and (not starts or at > _type_at(body, starts[-1])):
            starts.append(at)
    for block in body[: starts[0] if starts else len(body)]:
        yield Left(block.line, "it belongs to no row", block.text)
    for start, end in pairwise([*starts, len(body)]):
        at = _type_at(body, start)
        rest = body[at + 1 : end]
        kind = body[at].items if at < end else ()
        line = body[start].line
        yield Row(
            part=this,
            path=tuple(body[start].text.split(".")),
            line=line,
            type=Cell(kind, kind[0].line if kind else line),
            prose=cell(rest, rest[0].line if rest else line),
        )


def _type_at(body: Sequence[Block], start: int) -> int:
    """Where the type of the row stands that begins here: below its name and the marks of support."""
    at = start + 1
    while at < len(body) and _MARK.fullmatch(body[at].text):
        at += 1
    return at
