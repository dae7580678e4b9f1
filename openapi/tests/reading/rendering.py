"""Render facts as pages in two languages and four forms, to test the readers. The sentences are our own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from openapi.reading.grammar.statement import UNSTATED, DescribedDefault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openapi.reading.facts.fact import Fact
    from openapi.reading.grammar.interval import Interval, Range

Language = Literal["en", "zh"]
TYPES: dict[Language, dict[str, str]] = {
    "en": {"string": "string", "boolean": "Boolean", "integer": "integer", "number": "float", "object": "dict"},
    "zh": {"string": "string", "boolean": "bool", "integer": "int", "number": "float", "object": "dict"},
}
WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "types": "The value is of the {} type",
        "range": "The value range is {}",
        "default": "The default value is {}",
        "null": "Also, the value can be null",
        "no null": "The value cannot be null",
        "only": "Only {} is supported",
        "above": "greater than {}",
        "from": "greater than or equal to {}",
        "below": "less than {}",
        "to": "less than or equal to {}",
        "and": " and ",
        "or": " or ",
        "not empty": "The value cannot be empty",
        "length": "For string type, the length range is {}~{} characters",
        "element length": "with each element having a length of {}-{}",
        "element at least": "each element has at least {} characters",
        "at least": "The number of elements must be at least {}",
        "items": "The number of elements is {}-{}",
        "characters": "The total length of the list elements should not exceed {}",
        "empty": "An empty list is equivalent to null",
        "beyond": "Elements exceeding {} will be ignored",
        "size": "Currently, the maximum size of an image is {} MB",
        "count": "The total number of a, and b in a single request should be <= {}",
        "random": "If not provided, the system generates a random seed value",
        "decided by the backend model": "If the field is not set, the default value is determined by the backend model",
        "yes": "Mandatory",
        "no": "Optional",
        "when": 'Required when the {} is "{}", otherwise optional.',
        "stop": ". ",
        "prose": "It steers the answer.",
    },
    "zh": {
        "types": "{}类型",
        "range": "取值范围{}",
        "default": "默认值{}",
        "null": "可以为null",
        "no null": "不能为null",
        "only": "仅支持{}",
        "above": "大于{}",
        "from": "大于或等于{}",
        "below": "小于{}",
        "to": "小于或等于{}",
        "and": "且",
        "or": "或",
        "not empty": "非空",
        "length": "string类型长度范围为{}~{}",
        "element length": "每个元素的长度为{}~{}",
        "element at least": "每个元素字符长度大于或等于{}",
        "at least": "列表元素个数不少于{}个",
        "items": "列表元素个数为{}~{}个",
        "characters": "列表元素总长度不超过{}",
        "empty": "列表为空时相当于null",
        "beyond": "超出{}的元素将会被忽略",
        "size": "当前支持传入的图片最大为{}MB",
        "count": "单个请求中a、b数量总和<={}个",
        "random": "不传递该参数,系统会产生一个随机seed值",
        "decided by the backend model": "字段未设置时,默认值由后端模型确定",
        "yes": "必选",
        "no": "可选",
        "when": "当{}为{}时必选,否则可选",
        "stop": "。",
        "prose": "用来控制回答。",
    },
}


@dataclass(frozen=True, slots=True)
class Line:
    """One row to render: its path, and the texts of its cells."""

    path: tuple[str, ...]
    required: str
    value: str
    entries: tuple[str, ...] = ()
    prose: str = ""


def sentences(fact: Fact, element: Fact | None, language: Language) -> list[str]:
    """Render a fact as sentences; `element` is the fact of its elements."""
    words = WORDS[language]
    rendered: list[str] = []
    if fact.types:
        names = [_type(name, fact, element, language) for name in fact.types]
        rendered.append(words["types"].format(words["or"].join(names)))
    if fact.range:
        rendered.append(words["range"].format(_range(fact.range, words)))
    if len(fact.enum) == 1:
        rendered.append(words["only"].format(json.dumps(fact.enum[0])))
    if isinstance(fact.default, DescribedDefault):
        rendered.append(words.get(fact.default) or words["default"].format(fact.default))
    elif fact.default is not UNSTATED:
        rendered.append(words["default"].format(json.dumps(fact.default)))
    if fact.nullable is not None:
        rendered.append(words["null" if fact.nullable else "no null"])
    rendered += _sizes(fact, element, words)
    if fact.beyond or (element and element.beyond):
        rendered.append(words["beyond"].format((element or fact).format))
    if fact.empty:
        rendered.append(words["empty"])
    return rendered


def _sizes(fact: Fact, element: Fact | None, words: dict[str, str]) -> list[str]:
    spans: tuple[tuple[Range, str, str], ...] = (
        (fact.length, "not empty", "length"),
        (fact.items, "at least", "items"),
        (element.length if element else (), "element at least", "element length"),
    )
    rendered = [
        words[least].format(interval.low) if interval.high is None else words[both].format(interval.low, interval.high)
        for span, least, both in spans
        for interval in span
    ]
    rendered += [words["characters"].format(character.high) for character in fact.characters]
    rendered += [words["size"].format(int(byte.high) // 2**20) for byte in fact.media_bytes if byte.high is not None]
    rendered += [words["count"].format(interval.high) for interval in fact.media_count]
    return rendered


def _type(name: str, fact: Fact, element: Fact | None, language: Language) -> str:
    if name == "array":
        return f"List[{_type(element.types[0], element, None, language)}]" if element and element.types else "list"
    return fact.format if name == "integer" and fact.format else TYPES[language][name]


def _range(values: Range, words: dict[str, str]) -> str:
    return words["or"].join(_interval(value, words) for value in values)


def _interval(interval: Interval, words: dict[str, str]) -> str:
    if interval.low is not None and interval.low == interval.high:
        return str(interval.low)
    if interval.high is None:
        return words["above" if interval.low_open else "from"].format(interval.low)
    if interval.low is None:
        return words["below" if interval.high_open else "to"].format(interval.high)
    return f"{'(' if interval.low_open else '['}{interval.low}, {interval.high}{')' if interval.high_open else ']'}"


def line(fact: Fact, names: Sequence[str], element: Fact | None, language: Language) -> Line:
    """Render a fact as a row."""
    words = WORDS[language]
    name, _, rest = (fact.required or "no").partition(" ")
    tag, _, value = rest.partition("=")
    text = words["stop"].join(sentences(fact, element, language))
    return Line(
        path=tuple(names),
        required=words["when"].format(tag, value) if name == "when" else words[name],
        value=f"{text}{words['stop'].rstrip()}" if text else "",
        entries=tuple(f"{_key(value)}: {words['prose']}" for value in fact.enum) if len(fact.enum) > 1 else (),
        prose=words["prose"],
    )


def _key(value: Any) -> str:
    return value if isinstance(value, str) and value.isidentifier() else json.dumps(value)


def _opens(lines: Sequence[Line], at: int) -> bool:
    """Return whether a row is the first of its level."""
    return at > 0 and lines[at].path[:-1] == lines[at - 1].path


def html_page(lines: Sequence[Line], headers: Sequence[str] = ("Parameter", "Required", "Description", "Value")) -> str:
    """Render a table inside Markdown, with dashes that span the rows of each level."""
    width = max(len(row.path) for row in lines)
    rows = []
    for at, row in enumerate(lines):
        cells = []
        if _opens(lines, at):
            span = sum(1 for other in lines[at:] if other.path[: len(row.path) - 1] == row.path[:-1])
            cells.append(f'<td rowspan="{span}"><p>-</p></td>')
        cells.append(f'<td colspan="{width - len(row.path) + 1}"><p>{row.path[-1]}</p></td>')
        entries = "".join(f"<li>{escape(entry)}</li>" for entry in row.entries)
        value = f"<p>{escape(row.value)}</p>" if row.value else ""
        listed = f"<ul>{entries}</ul>" if entries else ""
        cells += [f"<td><p>{row.required}</p></td>", f"<td><p>{escape(row.prose)}</p></td>"]
        cells.append(f"<td>{value}{listed}</td>")
        rows.append("<tr>\n    " + "\n    ".join(cells) + "\n</tr>")
    head = f'<th colspan="{width}">{headers[0]}</th>' + "".join(f"<th>{name}</th>" for name in headers[1:])
    body = "\n".join(rows)
    return f"# Our own page\n\n## Request\n\n<table>\n<tr>{head}</tr>\n{body}\n</table>\n\nThe end.\n"


def piped_page(lines: Sequence[Line]) -> str:
    """Render cells that end with bars, seven per row. This form has no lists."""
    rows = ["Parameter |", "Mandatory/Optional |", "Description |", "Value |", "|||", "|---|---|---|---|---|---|---|"]
    for at, row in enumerate(lines):
        opens = _opens(lines, at)
        rows += ["- |"] * opens + [f"{row.path[-1]} |", f"{row.required} |", f"{row.prose} |", f"{row.value} |"]
        rows.append("|" * (3 - opens))
    return "\n".join(["Our own page", "Request Parameters", *rows, "Usage Example", "The end."]) + "\n"


def cells_page(lines: Sequence[Line]) -> str:
    """Render one cell per block."""
    blocks = ["我们的页面", "请求参数", "参数", "是否必选", "说明", "取值要求"]
    for at, row in enumerate(lines):
        blocks += ["-"] * _opens(lines, at)
        blocks += [row.path[-1], row.required, row.prose]
        blocks += [row.value] if row.value else []
        blocks += ["\n".join(f"  • {entry}" for entry in row.entries)] if row.entries else []
    return "\n\n".join([*blocks, "使用样例", "完。"]) + "\n"


def paragraphs_page(lines: Sequence[Line]) -> str:
    """Render names with dots, a type and a description under a heading; `required` is the cell of the type."""
    blocks = ["Our own page#", "Request#", "Param", "Our Server", "Type", "Description"]
    for row in lines:
        blocks += [".".join(row.path), row.required, row.value or row.prose]
    return "\n\n".join([*blocks, "Unsupported params of others:#", "  • odd\n\n  • strange (really)", "End#"]) + "\n"


PAGES: dict[str, Callable[[Sequence[Line]], str]] = {
    "html": html_page,
    "piped": piped_page,
    "cells": cells_page,
}
