"""Cells that say whether a parameter must be sent: always, never, or under a condition; and OVMS's types with it."""

from __future__ import annotations

import re
from typing import Final

from openapi.reading.grammar.clauses import ParsedText, read_text
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.types import said as said_types
from openapi.reading.grammar.types import types_of
from openapi.reading.grammar.vocabulary import plain

_WORDS: Final = {
    "yes": ("required", "mandatory", "必选", "必填", "是", "yes"),
    "no": ("optional", "可选", "选填", "否", "no"),
}
_BY_WORD: Final = {word: answer for answer, words in _WORDS.items() for word in words}
_WHEN: Final = re.compile(
    r"当(?P<zh>\w+?)为(?P<zh_value>\w+?)时必选,\s*否则可选"
    r"|(?:required|mandatory) when (?:the )?(?P<en>\w+) is (?:set to )?\"?(?P<en_value>\w+)\"?"
    r"(?:, otherwise optional|\. otherwise, it is optional)",
    re.IGNORECASE,
)
_TYPE: Final = re.compile(r"(?P<types>[^()]+?)\s*(?:\((?P<rest>.*)\))?", re.DOTALL)


def required(text: str) -> ParsedText:
    """What a cell of the column `required` says; `when role=tool` for a condition."""
    words = " ".join(plain(text).split()).rstrip("。.").lower()
    if words in _BY_WORD:
        return ParsedText((Statement("required", _BY_WORD[words], text),))
    when = _WHEN.fullmatch(" ".join(plain(text).split()).rstrip("。."))
    if when is None:
        return ParsedText((), (text,))
    name, value = when["zh"] or when["en"], when["zh_value"] or when["en_value"]
    return ParsedText((Statement("required", f"when {name}={value}", text),))


def typed(text: str, name: str) -> ParsedText:
    """What a cell of the column `type` says: `bool (optional, default: false)`."""
    match = _TYPE.fullmatch(plain(text).strip())
    if match is None:
        return ParsedText((), (text,))
    found = types_of(" ".join(match["types"].split()))
    if found is None:
        return ParsedText((), (text,))
    kinds = ParsedText(
        tuple(Statement(piece.attribute, piece.value, match["types"], piece.at) for piece in said_types(found))
    )
    if match["rest"] is None:
        return kinds
    first, comma, later = match["rest"].partition(",")
    sent = required(first)
    rest = later.strip() if sent.pieces else match["rest"]
    said = [kinds, *([sent] if sent.pieces else []), *([read_text(rest, name)] if rest or (comma and later) else [])]
    return ParsedText(
        tuple(piece for each in said for piece in each.pieces), tuple(text for each in said for text in each.unread)
    )
