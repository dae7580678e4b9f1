"""Tables with one cell per block: what is left of a table when only its texts are kept.

A row begins with a bare name; the next block says whether it is required, or its type. Row spans are lost: a dash
opens a level, and nothing closes it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.clauses import read_text
from openapi.reading.pages.blocks import Block, blocks, cell
from openapi.reading.pages.columns import columns, part
from openapi.reading.pages.nesting import DASHES, place
from openapi.reading.pages.row import Cell, Left, Row, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.columns import Column
    from openapi.reading.pages.row import Part

FORM: Final = "one cell per line"
NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
MOST_COLUMNS: Final = 6
_ENDS: Final = re.compile(
    r"(?:使用|请求|响应|返回|输出)?(?:样例|示例|说明)\s*[::]?"
    r"|(?:(?:usage |request |response )?examples?|output (?:explanation|description))\s*[::]?"
    r"|(?:表|table)\s*\d+.*|(?:POST|GET) https?:.*|curl\b.*",
    re.IGNORECASE | re.DOTALL,
)


def read(text: str) -> Rows | None:
    """All rows of a page in this form; None when it has no such table."""
    found = blocks(text)
    rows: list[Row] = []
    left: list[Left] = []
    at = 0
    while at < len(found):
        header = _header(found, at)
        if header is None:
            at += 1
            continue
        end = at + len(header)
        while end < len(found) and not _ENDS.fullmatch(found[end].text) and _header(found, end) is None:
            end += 1
        first = next((block.text for block in found[at + len(header) : end]), "")
        this = part(header, [found[at - 1].text] if at else [], first)
        if this is None:
            words = found[at - 1].text if at else ""
            left.append(Left(found[at].line, "neither columns nor heading tell which part this table describes", words))
        else:
            for row in _rows(this, header, found[at + len(header) : end]):
                (rows if isinstance(row, Row) else left).append(row)  # type: ignore[arg-type]
        at = end
    return Rows(FORM, tuple(rows), tuple(left)) if rows or left else None


def _header(found: Sequence[Block], at: int) -> tuple[Column, ...] | None:
    """The columns whose headers begin here, as many as there are."""
    for count in range(MOST_COLUMNS, 2, -1):
        these = found[at : at + count]
        if len(these) == count and all(len(block.items) == 1 for block in these):
            header = columns([block.text for block in these])
            if header is not None and "support" not in header:
                return header
    return None


def _starts(found: Sequence[Block]) -> list[int]:
    """Where rows begin: at every bare name, but for one that is the second cell of a row, its type."""
    starts: list[int] = []
    for at, block in enumerate(found):
        if NAME.fullmatch(block.text) and (not starts or at > starts[-1] + 1):
            starts.append(at)
    return starts


def _rows(this: Part, header: Sequence[Column], found: Sequence[Block]) -> Iterator[Row | Left]:
    starts = _starts(found)
    opens = [at > 0 and found[at - 1].text in DASHES for at in starts]
    if not starts or starts[0] > 0:
        for block in found[: starts[0] if starts else len(found)]:
            yield Left(block.line, "it belongs to no row", block.text)
    names = [(found[at].text, opening, found[at].line) for at, opening in zip(starts, opens, strict=True)]
    ends = [at - opening for at, opening in zip(starts, opens, strict=True)][1:] + [len(found)] * bool(starts)
    for start, end, path in zip(starts, ends, place(names, this), strict=True):
        if isinstance(path, Left):
            yield path
            continue
        second, *rest = found[start + 1 : end] or (found[start],)
        below = Cell(second.items if end > start + 1 else (), second.line)
        prose, value = _halves(rest, path[-1]) if "value" in header else (rest, [])
        yield Row(
            part=this,
            path=path,
            line=found[start].line,
            type=below if header[1] == "type" else None,
            required=below if header[1] == "required" else None,
            prose=cell(prose, prose[0].line) if prose else Cell((), second.line),
            value=(cell(value, value[0].line) if value else Cell((), second.line)) if "value" in header else None,
        )


def _halves(found: Sequence[Block], name: str) -> tuple[Sequence[Block], Sequence[Block]]:
    """Description and value: the value begins with a type or a list, or is the second of two blocks.

    Where nothing shows where it begins, all of it is the value, so that all that is unread is left to a person.
    """
    for at in range(1, len(found)):
        block = found[at]
        said = read_text(block.items[0].text, name)
        if block.is_list or (said.pieces and said.pieces[0].attribute == "types"):
            return found[:at], found[at:]
    return (found[:1], found[1:]) if len(found) == 2 else ([], found)
