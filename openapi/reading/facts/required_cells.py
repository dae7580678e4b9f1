"""Read the cells of the columns `required` and `type`; OVMS states both in one cell."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from openapi.reading.grammar.clauses import ParsedText, join, read_text
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.type_cells import is_array_of_unknown, parse_type_cell
from openapi.reading.grammar.types import type_statements
from openapi.reading.grammar.vocabulary import normalize

_WORDS: Final = {
    "yes": ("required", "mandatory", "m", "必选", "必填", "必须", "是", "yes", "y", "true", "✓", "✔", "✔️", "✅"),
    "no": (
        "optional",
        "o",
        "可选",
        "可选的",
        "选填",
        "否",
        "非必选",
        "非必填",
        "no",
        "n",
        "false",
        "✗",
        "✘",
        "×",
        "❌",
        "-",
    ),
}
_BY_WORD: Final = {word: answer for answer, words in _WORDS.items() for word in words}
_WHEN: Final = re.compile(
    r"当(?P<zh>\w+?)为(?P<zh_value>\w+?)时必选,\s*否则可选"
    r"|(?:required|mandatory) when (?:the )?(?P<en>\w+) is (?:set to )?\"?(?P<en_value>\w+)\"?"
    r"(?:, otherwise optional|\. otherwise, it is optional)",
    re.IGNORECASE,
)
_OPTIONAL: Final = re.compile(r"([^?]+)\?")
_TYPE: Final = re.compile(r"(?P<types>[^()]+?)\s*(?:\((?P<rest>.*)\))?", re.DOTALL)


def read_required_cell(text: str) -> ParsedText:
    """Read a cell of the column `required`; a condition becomes `when role=tool`."""
    words = " ".join(normalize(text).split()).rstrip("。.")
    if words.lower() in _BY_WORD:
        return ParsedText((Statement("required", _BY_WORD[words.lower()], text),))
    when = _WHEN.fullmatch(words)
    if when is None:
        return ParsedText((), (text,))
    name, value = when["zh"] or when["en"], when["zh_value"] or when["en_value"]
    return ParsedText((Statement("required", f"when {name}={value}", text),))


def read_type_cell(text: str, name: str) -> ParsedText:
    """Read a cell of the column `type`, such as `bool (optional, default: false)`."""
    words, equals, default = normalize(text).partition("=")
    if equals and parse_type_cell(words) is not None:  # int = 128
        return join([read_type_cell(words, name), read_text(f"Default: {_in_json(default)}", name)])
    if (optional := _OPTIONAL.fullmatch(normalize(text).strip())) and parse_type_cell(optional[1]) is not None:
        return join([read_type_cell(optional[1], name), ParsedText((Statement("required", "no", text),))])
    match = _TYPE.fullmatch(normalize(text).strip())
    types = parse_type_cell(match["types"]) if match else None
    if types is None and (limited := _read_limited_type(text, name)) is not None:
        return limited
    if match is None:
        return ParsedText((), (text,))
    if types is None:
        known = (Statement("types", ("array",), text),) if is_array_of_unknown(text) else ()
        return ParsedText(known, (text,))
    statements = type_statements(types)
    kinds = ParsedText(tuple(Statement(item.attribute, item.value, match["types"], item.at) for item in statements))
    if match["rest"] is None:
        return kinds
    first, comma, later = match["rest"].partition(",")
    required = read_required_cell(first)
    rest = later.strip() if required.statements else match["rest"]
    parts = [kinds, *([required] if required.statements else [])]
    if rest or (comma and later):
        parts.append(read_text(rest, name))
    return join(parts)


def _read_limited_type(text: str, name: str) -> ParsedText | None:
    """Read a type with a limit behind it, such as `integer greater than zero`; None for other words."""
    words = normalize(text).split()
    for size in range(len(words) - 1, 0, -1):
        types = parse_type_cell(" ".join(words[:size]))
        rest = read_text(" ".join(words[size:]), name) if types else ParsedText()
        if types and rest.statements and not rest.unread:
            return join([ParsedText(tuple(replace(one, text=text) for one in type_statements(types))), rest])
    whole = read_text(text, name)
    return whole if not whole.unread and any(one.attribute == "types" for one in whole.statements) else None


def _in_json(literal: str) -> str:
    """Write a literal of Python as one of JSON."""
    return {"None": "null", "True": "true", "False": "false"}.get(literal.strip(), literal.strip())
