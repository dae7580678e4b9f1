"""Read the cells of the columns `required` and `type`; OVMS states both in one cell."""

from __future__ import annotations

import re
from typing import Final

from openapi.reading.grammar.clauses import ParsedText, join, read_text
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.type_cells import is_array_of_unknown, parse_type_cell
from openapi.reading.grammar.types import type_statements
from openapi.reading.grammar.vocabulary import normalize

_WORDS: Final = {
    "yes": ("required", "mandatory", "m", "必选", "必填", "必须", "是", "yes", "y", "true", "✓", "✔", "✔️", "✅"),
    "no": ("optional", "o", "可选", "选填", "否", "非必选", "非必填", "no", "n", "false", "✗", "✘", "×", "❌", "-"),
}
_BY_WORD: Final = {word: answer for answer, words in _WORDS.items() for word in words}
_WHEN: Final = re.compile(
    r"当(?P<zh>\w+?)为(?P<zh_value>\w+?)时必选,\s*否则可选"
    r"|(?:required|mandatory) when (?:the )?(?P<en>\w+) is (?:set to )?\"?(?P<en_value>\w+)\"?"
    r"(?:, otherwise optional|\. otherwise, it is optional)",
    re.IGNORECASE,
)
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
    match = _TYPE.fullmatch(normalize(text).strip())
    if match is None:
        return ParsedText((), (text,))
    types = parse_type_cell(match["types"])
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


def _in_json(literal: str) -> str:
    """Write a literal of Python as one of JSON."""
    return {"None": "null", "True": "true", "False": "false"}.get(literal.strip(), literal.strip())
