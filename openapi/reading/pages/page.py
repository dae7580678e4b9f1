"""Pages: bytes to rows. Which form a page has is told by its own marks, never by its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openapi.contract.resolution import ContractError
from openapi.reading.pages import cell_lines, headed_paragraphs, html_tables, piped_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.reading.pages.row import Rows

FORMS: tuple[Callable[[str], Rows | None], ...] = (
    piped_lines.read,
    html_tables.read,
    headed_paragraphs.read,
    cell_lines.read,
)
_UNPRINTABLE = re.compile(  # what steers a terminal, turns text around, or is no YAML
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_CURE = "give a page with its tables of parameters as HTML, Markdown or text"


def rows_of(content: bytes, name: str) -> Rows:
    """The rows of a page called `name`. Raises ContractError, in one line, for bytes that are no page of parameters."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ContractError(f"{name}: line {line}: byte {error.start} is not UTF-8; save the page as UTF-8") from None
    text = _UNPRINTABLE.sub("\ufffd", re.sub(r"\r\n?", "\n", text))
    if not text.strip():
        raise ContractError(f"{name}: line 1: the page is empty; {_CURE}")
    for form in FORMS:
        try:
            found = form(text)
        except RecursionError:
            raise ContractError(f"{name}: line 1: its tags nest too deeply; {_CURE}") from None
        if found is not None and found.rows:
            return found
    raise ContractError(f"{name}: line {_first_line(text)}: no table of parameters is recognised; {_CURE}")


def _first_line(text: str) -> int:
    """The number of the first line that is not blank."""
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.strip())
