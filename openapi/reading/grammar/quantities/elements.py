"""Rules for amounts of each element of a list, such as `up to 4 sequences of at most 32 characters each`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.quantities.amounts import COUNT, read_bare_amount
from openapi.reading.grammar.quantities.typed_amounts import read_any_amount
from openapi.reading.grammar.rule import Preceding, rule

if TYPE_CHECKING:
    from openapi.reading.grammar.statement import Statement

_ELEMENT: Final = r"(?:(?:stop )?(?:item|element|entry|sequence|string|word|phrase|keyword|tag|label))"
_EACH: Final = (
    rf"(?:each|every)(?: (?:one|{_ELEMENT}|of (?:them|these|which|the (?:{_ELEMENT}s|entries))))?"
    r"(?: (?:of|with|having|containing|holding))?"
)
_JOINT: Final = re.compile(
    r"(?: of | with | having | containing | holding | that | which |, of |, with |, and |, |\s*\()", re.IGNORECASE
)
_PART: Final = re.compile(
    rf"(?:{_EACH} (?P<inner>.+?)"
    rf"|(?P<first>.+?) (?:each|apiece|(?:per|for each) {_ELEMENT})(?P<most> at most)?)",
    re.IGNORECASE,
)


def _read_element(match: re.Match[str], name: str) -> list[Statement] | None:
    """Read an amount of characters, which limits each element."""
    words = match["inner"] or f"{match['first']}{match['most'] or ''}"
    statements = read_bare_amount(words, name)
    if statements is None or ["length"] != [statement.attribute for statement in statements]:
        return None
    return [replace(statement, at="[]") for statement in statements]


def _read_both(match: re.Match[str], name: str) -> list[Statement] | None:
    """Read an amount of elements, and one of each element, at the first place between them where both can be read."""
    for joint in _JOINT.finditer(match[0]):
        outer, inner = match[0][: joint.start()], match[0][joint.end() :]
        read = None if joint[0].endswith("(") != inner.endswith(")") else read_any_amount(outer, name)
        part = _PART.fullmatch(inner.removesuffix(")"))
        if read and part and any(statement.attribute in ("items", COUNT) for statement in read):
            element = _read_element(part, name)
            if element is not None:
                return [*read, *element]
    return None


RULES: Final = (
    rule(rf"(?:(?:of|with|having|and) )?{_PART.pattern}", _read_element, Preceding.READ),
    rule(r".+\b(?:each|every|apiece|per)\b.*", _read_both, Preceding.READ),
)
