"""Lists of what is not supported: each entry begins with a name, and may explain itself in brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.row import Item, Left, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi.reading.pages.row import Part

_HEADING: Final = re.compile(r"(?:un|not )supported (?:param|field)\w*|不支持的(?:参数|字段)", re.IGNORECASE)
_ENTRY: Final = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)\s*(?:\(.*\))?", re.DOTALL)


def lists_unsupported(heading: str) -> bool:
    """Whether a heading announces such a list."""
    return bool(_HEADING.search(heading))


def unsupported(part: Part, entries: Iterable[Item]) -> Iterator[Row | Left]:
    """A row for each entry."""
    for item in entries:
        match = _ENTRY.fullmatch(item.text)
        if match is None:
            yield Left(item.line, "an entry that begins with no name", item.text)
        else:
            yield Row(part, tuple(match[1].split(".")), item.line, supported=False)
