"""Recognise the columns of a table by headers and cells, and the part of the interface that the table describes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openapi.reading.grammar.answers import parse_answer
from openapi.reading.grammar.clauses import read_text
from openapi.reading.grammar.vocabulary import NUMBER, normalize
from openapi.reading.pages.column_cells import list_flags, list_values, recognize_names, recognize_types
from openapi.reading.pages.column_headers import guess_column, parse_column
from openapi.reading.pages.row import Cell, Item, is_blank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openapi.reading.pages.column_headers import Column
    from openapi.reading.pages.row import Part

READ_AS = "its cells are {0}, so the column is read as {0}: confirm that"
VALUES = "its cells are values, and the header does not say of what: they are not read; state defaults by hand"
FLAGGED = (
    "its cells are yes and no, and the header does not say to what: they are not read; state what is required by hand"
)
NO_PART = "neither the columns nor a heading show which part of the interface this describes"

_LEADS: dict[Column, str] = {
    "range": "Range",
    "values": "Possible values",
    "minimum": "Minimum",
    "maximum": "Maximum",
    "default": "Default",
}
"""What the header of a column says about each of its cells, as a sentence about the parameter would."""
_UNITS: tuple[tuple[str, str], ...] = (
    ("characters", r"\bchar(?:acter)?s?\b|字符"),
    ("tokens", r"\btokens?\b"),
    ("items", r"\b(?:items?|elements?|entry|entries|members?)\b|元素"),
)
"""Units that a header may state for the numbers in its cells."""
_LENGTH = re.compile(r"\b(?:length|len|size)\b|长度", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:options?|keys?|names?|settings?|flags?|inputs?|args?)\b|名", re.IGNORECASE)
"""Words of a first header that stand for a parameter if another column has types: a table of models has none."""
_PARTS: tuple[tuple[Part, str], ...] = (
    ("errors", r"\berrors?\b(?= (?:respon|body|bodies|object|format|envelope|output|in|of))"),
    ("request", r"request|请求"),
    ("stream", r"stream|流式"),
    ("response", r"respon(?!se_format)|output|result|返回|响应|输出|结果"),
    ("errors", r"error|错误"),
)
_PARAMETERS = re.compile(
    r"\bbody\b|param|argument|\boptions?\b|\binput\b|参数|入参|chat.?completions?\b", re.IGNORECASE
)
"""Words that stand for a request if no heading names another part: responses have parameters, too."""


@dataclass(frozen=True, slots=True)
class RecognizedColumns:
    """The columns of a table of parameters in their order.

    doubts: what a person has to confirm, each a header and the reason.
    """

    columns: tuple[Column, ...]
    doubts: tuple[tuple[str, str], ...] = ()


def recognize_columns(headers: Sequence[str], body: Sequence[Sequence[Cell | None]] = ()) -> RecognizedColumns | None:
    """Return the columns of a table of parameters in any order; None if it is not such a table.

    Unknown columns are `other`, unless their cells show what they are. A second column of a kind is unknown, too,
    except names that are known exactly: those are levels of nesting. A header that is known exactly comes before one
    with a word that hints at the same column.
    """
    columns = _parse_headers(headers)
    doubts = []
    if (at := recognize_types(columns, body)) is not None:
        columns[at] = "type"
        doubts.append((headers[at], READ_AS.format("types")))
    if "name" not in columns and columns[:1] == ["other"] and "type" in columns and _NAMED.search(headers[0]):
        columns[0] = "name"
    if (at := recognize_names(columns, body)) is not None:
        columns[at] = "name"
        doubts.append((headers[at], READ_AS.format("names of parameters")))
    if "default" not in columns:
        doubts += [(headers[at], VALUES) for at in list_values(headers, columns, body)]
    if {"required", "omissible"}.isdisjoint(columns):
        doubts += [(headers[at], FLAGGED) for at in list_flags(columns, body)]
    has_facts = set(columns) - {"name", "other", "prose"}
    is_about_parameters = "name" in columns and (has_facts or "prose" in columns) and len(columns) > 1
    return RecognizedColumns(tuple(columns), tuple(doubts)) if is_about_parameters else None


def _parse_headers(headers: Sequence[str]) -> list[Column]:
    """Return the columns that headers name or hint at; `other` for the rest."""
    exact = [parse_column(header) for header in headers]
    columns: list[Column] = []
    for header, known in zip(headers, exact, strict=True):
        column = known or guess_column(header)
        taken = column in columns if known else column in (*columns, *exact)
        columns.append("other" if column is None or (taken and (column != "name" or not known)) else column)
    return columns


def parse_columns(headers: Sequence[str]) -> tuple[Column, ...] | None:
    """Return the columns of a flattened table of parameters; None if the headers are not those of such a table.

    Unknown columns between the name and the type are `support`: they mark the products that support a parameter.
    """
    columns: list[Column] = []
    for header in headers:
        column = parse_column(header)
        if column is None and columns and "type" not in columns and "prose" not in columns:
            column = "support"
        if column is None or (column in columns and column not in ("name", "support")):
            return None
        columns.append(column)
    has_facts = {"required", "type", "value"} & set(columns)
    return tuple(columns) if columns[:1] == ["name"] and has_facts and "prose" in columns else None


def read_value(cells: Mapping[Column, Cell | None], headers: Mapping[Column, str] | None = None) -> Cell | None:
    """Read the cell with the requirements on the value, to which other columns add statements, such as a default.

    headers: of the columns, which may state the unit of their numbers.
    """
    value = cells.get("value")
    for column, lead in _LEADS.items():
        cell = cells.get(column)
        if cell is None or is_blank(cell):
            continue
        first, *others = cell.items
        known = normalize(first.text).lower().startswith(lead.lower())
        text = _with_unit(lead, first.text, (headers or {}).get(column, ""))
        stated = (
            first if known or (column != "default" and _is_read(first.text)) else replace(first, text=text),
            *others,
        )
        value = replace(cell, items=stated) if value is None else replace(value, items=(*value.items, *stated))
    return value


def state_limit(header: str, cell: Cell) -> Cell:
    """Return the cell of a further column of limits, such as `Max items` next to `Maximum`, as a statement."""
    lead = _LEADS.get(guess_column(header) or "other", "")
    if lead not in ("Minimum", "Maximum") or is_blank(cell):
        return cell
    first, *others = cell.items
    return replace(cell, items=(replace(first, text=_with_unit(lead, first.text, header)), *others))


def _with_unit(lead: str, text: str, header: str) -> str:
    """Return the statement that a cell makes below its header, whose words may state the unit of a number."""
    if lead not in ("Minimum", "Maximum") or not re.fullmatch(NUMBER, normalize(text).strip()):
        return f"{lead}: {text}"
    unit = next((unit for unit, words in _UNITS if re.search(words, header, re.IGNORECASE)), None)
    if unit is not None:
        return f"{lead}: {text} {unit}"
    return f"{lead} length: {text}" if _LENGTH.search(header) else f"{lead}: {text}"


def read_required(cells: Mapping[Column, Cell | None]) -> Cell | None:
    """Return the cell of a column `required`, or what a column about omission says, in its words."""
    omissible = cells.get("omissible")
    answer = None if omissible is None else parse_answer(omissible.text)
    if omissible is None or answer is None:
        return cells.get("required") or omissible
    return Cell((Item("optional" if answer else "required", 0, omissible.line),), omissible.line)


def _is_read(text: str) -> bool:
    """Return whether words are a statement on their own, without the header of their column."""
    parsed = read_text(text, "x")
    return bool(parsed.statements) and not parsed.unread


def detect_part(columns: Sequence[Column], headings: Sequence[str], first_name: str) -> Part | None:
    """Detect the part that a table describes from its columns, its first row or its headings; None if none shows it.

    Only requests have required parameters, and only events of a stream are called `data`. Of the headings, innermost
    first, the first one that names a part is used; without one, words such as `parameters` stand for the request.
    """
    if {"required", "omissible"} & set(columns):
        return "request"
    if first_name == "data":
        return "stream"
    part = find_named_part(headings)
    return "request" if part is None and any(map(names_parameters, headings)) else part


def names_parameters(heading: str) -> bool:
    """Return whether a heading has a word that stands for a request if no heading names another part."""
    return _PARAMETERS.search(heading) is not None


def find_named_part(headings: Sequence[str]) -> Part | None:
    """Return the part that the first of some headings names; None if none of them does."""
    named = (name for heading in headings for name, words in _PARTS if re.search(words, heading, re.IGNORECASE))
    return next(named, None)
