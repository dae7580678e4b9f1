"""Read the rows of a page. The kind of page is detected from its content, not from its name."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.contract.tree.yaml_file import ContractError
from openapi.reading.pages import html_tables
from openapi.reading.pages.flattened import cell_lines, headed_paragraphs, named_blocks, piped_lines
from openapi.reading.pages.table_grid import find_tables, parse_markup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openapi.reading.pages.row import Rows

READERS: tuple[Callable[[str], Rows | None], ...] = (
    piped_lines.read,
    html_tables.read,
    headed_paragraphs.read,
    cell_lines.read,
    named_blocks.read,
)
_UNPRINTABLE = re.compile(  # terminal controls, bidirectional overrides, and characters that YAML forbids
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_ROLE = re.compile(r":(?:[a-z]+:)?[a-z]+:(?=`)")  # of reStructuredText: :obj:`None`
MOST_SHOWN: Final = 3
MOST_CHARACTERS: Final = 80
_EXPECTED = "expected tables or lists of parameters, as HTML, Markdown or text"


def read_page(content: bytes, name: str, sections: Sequence[str] = ()) -> Rows:
    """Read the rows of a page. Raises ContractError, in one line, if it has no table of parameters.

    sections: words of the headings of a page in HTML or Markdown below which rows are read; empty for those about chat
        completions.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ContractError(f"{name}: line {line}: invalid encoding at byte {error.start}: expected UTF-8") from None
    text = _ROLE.sub("", _UNPRINTABLE.sub("\ufffd", re.sub(r"\r\n?", "\n", text)))
    if not text.strip():
        raise ContractError(f"{name}: line 1: the page is empty: {_EXPECTED}")
    found: Rows | None = None
    for reader in READERS:
        try:
            rows = html_tables.read(text, sections) if reader is html_tables.read else reader(text)
        except RecursionError:
            raise ContractError(f"{name}: line 1: tags are nested too deeply: {_EXPECTED}") from None
        if rows is not None and any(row.part == "request" for row in rows.rows):
            return rows if found is None else _join(found, rows)
        found = found or (rows if rows is not None and rows.rows else None)
    if found is not None:
        return found
    raise ContractError(f"{name}: line {_first_line(text)}: no table of parameters: {_describe_tables(text)}")


def _join(answers: Rows, request: Rows) -> Rows:
    """Return the rows of a request with those of answers that another reader found, other than its parameters."""
    names = {row.path[0] for row in request.rows}
    others = tuple(row for row in answers.rows if row.path[0] not in names)
    return replace(request, rows=(*request.rows, *others), unread=(*request.unread, *answers.unread))


def _describe_tables(text: str) -> str:
    """Return what a page has instead of a table of parameters: the headers of its first tables."""
    seen = [" | ".join(filter(None, table.headers)) for table in find_tables(*parse_markup(text))]
    seen = list(dict.fromkeys(filter(None, seen)))
    if not seen:
        return _EXPECTED
    more = f" and {len(seen) - MOST_SHOWN} more" if len(seen) > MOST_SHOWN else ""
    shown = "; ".join(" ".join(headers.split())[:MOST_CHARACTERS] for headers in seen[:MOST_SHOWN])
    return f"expected columns such as Parameter, Type and Description; its tables have {shown}{more}"


def _first_line(text: str) -> int:
    """Return the number of the first line that is not blank."""
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.strip())
