"""Read lists of unsupported parameters: each entry is a name, optionally followed by an explanation in brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.row import Item, TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi.reading.pages.row import Part

_HEADING: Final = re.compile(r"(?:un|not )supported (?:param|field)\w*|不支持的(?:参数|字段)", re.IGNORECASE)
_ENTRY: Final = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)\s*(?:\(.*\))?", re.DOTALL)


def announces_unsupported(heading: str) -> bool:
    """Return whether a heading announces a list of unsupported parameters."""
    return bool(_HEADING.search(heading))


def read_unsupported(part: Part, entries: Iterable[Item]) -> Iterator[TableRow | UnreadPassage]:
    """Yield a row for each entry."""
    for item in entries:
        match = _ENTRY.fullmatch(item.text)
        if match is None:
            yield UnreadPassage(item.line, "the entry does not begin with a name", item.text)
        else:
            yield TableRow(part, tuple(match[1].split(".")), item.line, supported=False)
