"""Columns: what the header of a table says that its cells hold, and which part of the interface the table describes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.reading.pages.row import Part

Column = Literal["name", "required", "type", "prose", "value", "support"]

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
}
_BY_WORD = {word: column for column, words in _HEADERS.items() for word in words}

_PARTS: tuple[tuple[Part, str], ...] = (
    ("request", r"request|请求"),
    ("stream", r"stream|流式"),
    ("response", r"respon|output|result|响应|输出|结果"),
)


def column(header: str) -> Column | None:
    """The column that a header names; None for words that name none."""
    return _BY_WORD.get(" ".join(header.lower().split()))


def columns(headers: Sequence[str]) -> tuple[Column, ...] | None:
    """The columns of a table of parameters, or None when these are not its headers.

    What stands between the name and the type and means nothing here tells what supports a parameter, mark by mark.
    """
    found: list[Column] = []
    for header in headers:
        this = column(header)
        if this is None and found and "type" not in found and "prose" not in found:
            this = "support"
        if this is None or (this in found and this not in ("name", "support")):
            return None
        found.append(this)
    says = {"required", "type", "value"} & set(found)
    return tuple(found) if found[:1] == ["name"] and says and "prose" in found else None


def part(found: Sequence[Column], headings: Sequence[str], first: str) -> Part | None:
    """The part a table describes, by its columns, its first row or its headings; None when nothing tells.

    Only what is sent can be required, and only an event of a stream is called `data`. `headings`: innermost first; the
    first that names a part counts.
    """
    if "required" in found:
        return "request"
    if first == "data":
        return "stream"
    named = (name for heading in headings for name, words in _PARTS if re.search(words, heading, re.IGNORECASE))
    return next(named, None)
