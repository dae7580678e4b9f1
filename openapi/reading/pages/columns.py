"""Recognise the columns of a table by their headers, and the part of the interface that the table describes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from openapi.reading.grammar.clauses import read_text
from openapi.reading.grammar.vocabulary import normalize
from openapi.reading.pages.row import DASHES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openapi.reading.pages.row import Cell, Part

Column = Literal[
    "name", "required", "type", "prose", "value", "range", "values", "minimum", "maximum", "default", "support", "other"
]
NO_PART = "neither the columns nor a heading show which part of the interface this describes"

_HEADERS: dict[Column, tuple[str, ...]] = {
    "name": (
        *("parameter", "parameter name", "param", "parameters", "field", "field name", "name", "参数", "参数名"),
        *(
            "参数名称",
            "attribute",
            "property",
            "key",
            "argument",
            "option",
            "字段",
            "字段名",
            "字段名称",
            "属性",
            "名称",
        ),
    ),
    "required": (
        "required",
        "mandatory",
        "mandatory/optional",
        "required/optional",
        "是否必选",
        "是否必填",
        "必选/可选",
        *("required?", "is required", "optional", "presence", "必选", "必填", "必须", "是否必须", "是否必需"),
    ),
    "type": ("type", "data type", "types", "type/default", "format", "类型", "参数类型", "数据类型"),
    "prose": ("description", "descriptions", "desc", "details", "meaning", "说明", "描述", "参数说明", "含义", "备注"),
    "value": ("value", "value requirement", "value requirements", "constraints", "limits", "取值要求", "取值"),
    "range": ("range", "valid range", "value range", "allowed range", "范围", "取值范围", "有效范围"),
    "values": (
        *("values", "possible values", "allowed values", "accepted values", "valid values", "supported values"),
        *("available options", "options", "enum", "可选值", "枚举值"),
    ),
    "minimum": ("min", "minimum", "min value", "最小值"),
    "maximum": ("max", "maximum", "max value", "最大值"),
    "default": ("default", "defaults", "default value", "默认值", "默认"),
}
_LEADS: dict[Column, str] = {
    "range": "Range: ",
    "values": "Possible values: ",
    "minimum": "Minimum: ",
    "maximum": "Maximum: ",
    "default": "Default: ",
}
"""What the header of a column says about each of its cells, as a sentence about the parameter would."""
_BY_WORD = {word: column for column, words in _HEADERS.items() for word in words}
_HINTS: tuple[tuple[Column, str], ...] = (
    ("default", r"\b(?:defaults?|presets?)\b|默认"),
    ("required", r"\b(?:required|mandatory|optional|presence)\b|必选|必填|必须"),
    ("minimum", r"\b(?:min|minimum|at least|lowest|smallest)\b|最小"),
    ("maximum", r"\b(?:max|maximum|at most|highest|largest)\b|最大"),
    ("range", r"\b(?:range|bounds?|interval)\b|范围"),
    ("values", r"\b(?:allowed|accepted|possible|permitted|valid|supported) \w+|\b(?:choices|enum\w*|values)\b|可选值"),
    ("value", r"\b(?:constraints?|limits?|restrictions?|validation)\b|限制|约束|取值"),
    ("type", r"\b(?:type|types|kind|format|schema)\b|类型"),
    (
        "prose",
        r"\b(?:descri\w+|notes?|comments?|remarks?|explanations?|meaning|details?|purpose|usage|summary)\b|说明|描述",
    ),
    ("name", r"\b(?:parameters?|params?|arguments?|fields?|propert\w+|attributes?)\b|参数|字段"),
)
"""Words by which an unknown header is understood, in the order in which they count."""

_NAMED = re.compile(r"\b(?:options?|keys?|names?|settings?|flags?|inputs?|args?)\b|名", re.IGNORECASE)
"""Words of a first header that stand for a parameter if another column has types: a table of models has none."""
_PARTS: tuple[tuple[Part, str], ...] = (
    ("request", r"request|请求"),
    ("stream", r"stream|流式"),
    ("response", r"respon|output|result|返回|响应|输出|结果"),
    ("errors", r"error|错误"),
)
_PARAMETERS = re.compile(
    r"\bbody\b|param|argument|\boptions?\b|\binput\b|参数|入参|chat.?completions?\b", re.IGNORECASE
)
"""Words that stand for a request if no heading names another part: responses have parameters, too."""


def parse_column(header: str) -> Column | None:
    """Return the column that a header names; None for an unknown header."""
    return _BY_WORD.get(" ".join(header.lower().strip("*: ").split()))


def guess_column(header: str) -> Column | None:
    """Return the column that a header names, or that one of its words hints at."""
    known = parse_column(header)
    return known or next((column for column, words in _HINTS if re.search(words, header, re.IGNORECASE)), None)


def parse_any_columns(headers: Sequence[str]) -> tuple[Column, ...] | None:
    """Return the columns of a table of parameters in any order; None if the headers are not those of such a table.

    Unknown columns are `other`. A second column of a kind is unknown, too, except names that are known exactly: those
    are levels of nesting. A header that is known exactly comes before one with a word that hints at the same column.
    """
    exact = [parse_column(header) for header in headers]
    columns: list[Column] = []
    for header, known in zip(headers, exact, strict=True):
        column = known or guess_column(header)
        taken = column in columns if known else column in (*columns, *exact)
        columns.append("other" if column is None or (taken and (column != "name" or not known)) else column)
    if "name" not in columns and columns[:1] == ["other"] and "type" in columns and _NAMED.search(headers[0]):
        columns[0] = "name"
    has_facts = set(columns) - {"name", "other", "prose"}
    return tuple(columns) if "name" in columns and (has_facts or "prose" in columns) and len(columns) > 1 else None


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


def read_value(cells: Mapping[Column, Cell | None]) -> Cell | None:
    """Return the cell with the requirements on the value, to which other columns add statements, such as a default."""
    value = cells.get("value")
    for column, lead in _LEADS.items():
        cell = cells.get(column)
        if cell is None or not cell.items or cell.text in DASHES:
            continue
        first, *others = cell.items
        known = normalize(first.text).lower().startswith(lead.lower().rstrip(": "))
        stated = (
            first
            if known or (column != "default" and _is_read(first.text))
            else replace(first, text=f"{lead}{first.text}"),
            *others,
        )
        value = replace(cell, items=stated) if value is None else replace(value, items=(*value.items, *stated))
    return value


def _is_read(text: str) -> bool:
    """Return whether words are a statement on their own, without the header of their column."""
    parsed = read_text(text, "x")
    return bool(parsed.statements) and not parsed.unread


def detect_part(columns: Sequence[Column], headings: Sequence[str], first_name: str) -> Part | None:
    """Detect the part that a table describes from its columns, its first row or its headings; None if none shows it.

    Only requests have required parameters, and only events of a stream are called `data`. Of the headings, innermost
    first, the first one that names a part is used; without one, words such as `parameters` stand for the request.
    """
    if "required" in columns:
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
