"""Recognise a description that consists of the values of a parameter, also behind words that name it.

A field of the type `enum` may list them in any words, another one has them in code: `text` or `json_object`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.types import is_value_list
from openapi.reading.grammar.vocabulary import normalize
from openapi.reading.pages.column_cells import EXAMPLES

if TYPE_CHECKING:
    from openapi.reading.pages.row import TableRow

_ENUM: Final = re.compile(r"(?:string )?(?:enum|enumeration|枚举)(?:类型|值| string)?", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"\s*(?:,\s*(?:or|and)\s|,|\||、|/|\s(?:or|and)\s|或者?|和)\s*")
_LABELLED: Final = re.compile(r"(?P<label>[^:.。`\d]{1,40}):\s*(?P<values>`.+`)", re.DOTALL)
_HINTS: Final = re.compile(
    r"\b(?:e\.?g|like|recommended|default|not|unsupported|model)\b|如|推荐|建议|默认|不|模型", re.IGNORECASE
)
_STRINGS: Final = frozenset({"string", "str", "enum", "字符串"})
"""Types for which values behind a label are all values: an object with values is described by one of its fields."""


def announce_values(row: TableRow) -> TableRow:
    """Return a row with its values announced, if a description consists of them alone.

    The values of a string may stand behind words that name it, as in "Depth: `low`/`high`".
    """
    kind = row.type.text.strip() if row.type else ""
    is_enum = _ENUM.fullmatch(kind) is not None
    for column in ("value", "prose"):
        cell = getattr(row, column)
        items = cell.items if cell else ()
        is_string = kind.lower().strip("`") in _STRINGS
        items = tuple(replace(item, text=_without_label(item.text)) for item in items) if is_string else items
        listed = [item for item in items if _lists_values(item.text.strip().rstrip("."), is_enum=is_enum)]
        if listed:
            others = tuple(item for item in items if item is not listed[0])
            announced = replace(listed[0], text=f"One of: {listed[0].text}")
            row = replace(row, **{column: replace(cell, items=(announced, *others))})
            return replace(row, type=None) if is_enum else row
    return row


def _lists_values(text: str, *, is_enum: bool) -> bool:
    is_code = all(part.startswith("`") and part.endswith("`") for part in _BETWEEN.split(text))
    return (is_enum or is_code) and is_value_list(" ".join(normalize(text).split()))


def _without_label(text: str) -> str:
    """Return the values in code behind words that name them and give no examples; other text as it is."""
    match = _LABELLED.fullmatch(normalize(text, keep_marks=True).strip().rstrip("."))
    if match is None or EXAMPLES.search(match["label"]) or _HINTS.search(match["label"]):
        return text
    parts = _BETWEEN.split(match["values"])
    return match["values"] if len(parts) > 1 and _lists_values(match["values"], is_enum=False) else text
