"""Recognise the columns of a table by their headers, and the part of the interface that the table describes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from openapi.reading.pages.nesting import DASHES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openapi.reading.pages.row import Cell, Part

Column = Literal["name", "required", "type", "prose", "value", "default", "support"]
NO_PART = "neither the columns nor a heading show which part of the interface this describes"

_HEADERS: dict[Column, tuple[str, ...]] = {
    "name": ("parameter", "parameter name", "param", "parameters", "field", "name", "参数", "参数名", "参数名称"),
    "required": (
        "required",
        "mandatory",
        "mandatory/optional",
        "required/optional",
        "是否必选",
        "是否必填",
        "必选/可选",
    ),
    "type": ("type", "data type", "类型", "参数类型", "数据类型"),
    "prose": ("description", "说明", "描述", "参数说明"),
    "value": ("value", "value range", "value requirement", "value requirements", "取值要求", "取值范围", "取值"),
    "default": ("default", "default value", "默认值"),
}
_BY_WORD = {word: column for column, words in _HEADERS.items() for word in words}

_PARTS: tuple[tuple[Part, str], ...] = (
    ("request", r"request|请求"),
    ("stream", r"stream|流式"),
    ("response", r"respon|output|result|响应|输出|结果"),
)


def parse_column(header: str) -> Column | None:
    """Return the column that a header names; None for an unknown header."""
    return _BY_WORD.get(" ".join(header.lower().split()))


def parse_columns(headers: Sequence[str]) -> tuple[Column, ...] | None:
    """Return the columns of a table of parameters; None if the headers are not those of such a table.

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
    """Return the cell with the requirements on the value, to which a column for the default adds a statement."""
    value, default = cells.get("value"), cells.get("default")
    if default is None or not default.items or default.text in DASHES:
        return value
    first, *others = default.items
    stated = (replace(first, text=f"Default: {first.text}"), *others)
    return replace(default, items=stated) if value is None else replace(value, items=(*value.items, *stated))


def detect_part(columns: Sequence[Column], headings: Sequence[str], first_name: str) -> Part | None:
    """Detect the part that a table describes from its columns, its first row or its headings; None if none shows it.

    Only requests have required parameters, and only events of a stream are called `data`. Of the headings, innermost
    first, the first one that names a part is used.
    """
    if "required" in columns:
        return "request"
    if first_name == "data":
        return "stream"
    named = (name for heading in headings for name, words in _PARTS if re.search(words, heading, re.IGNORECASE))
    return next(named, None)
