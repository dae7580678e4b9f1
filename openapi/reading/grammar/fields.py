"""Rules for the fields of an object, such as `each has a "role" ("user" or "system") and a "content" string`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from openapi.reading.grammar import limits, ranges, types, values
from openapi.reading.grammar.quantities import amounts, typed_amounts
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.types import is_value_list, parse_types, type_statements
from openapi.reading.grammar.vocabulary import NAME, QUOTED

_HAS: Final = (
    r"(?:(?:which |that |must |should )?(?:has|have|contains?|consists? of|includes?|comprises?)"
    r"|(?:is|are|must be) (?:an? )?objects? (?:with|of|containing|that (?:has|have|contains?))|with)"
    r"(?: the)?(?: following)?(?: two| three| four)?(?: (?:fields|keys|properties|parts))?:?"
)
_ELEMENT: Final = r"(?:each|every)(?: one)?(?: of (?:them|these|which)| [a-z]+)?"
_OBJECT: Final = r"(?:it|this|an? object|the object)"
_NOTE: Final = r"\((?P<{}>(?:[^()]|\([^()]*\))*)\)"
_PRESENCE: Final = r"(?:optional|required|mandatory)"
_KIND: Final = r"(?:strings?|integers?|numbers?|booleans?|objects?|(?:arrays?|lists?)(?: of [a-z]+)?|null|[a-z]+\[\])"
_TYPE: Final = rf"{_KIND}(?: or {_KIND})*"
_FIELD: Final = re.compile(
    rf"(?:an? |the |its )?(?P<presence>{_PRESENCE} )?(?:(?P<before>{_TYPE}) )?(?P<name>{QUOTED}|{NAME})"
    rf"(?: ?{_NOTE.format('first')})?(?: (?P<after>{_TYPE}|field|key|property)(?![\w-]))?"
    rf"(?: ?{_NOTE.format('second')})?(?:,? (?:an? |which is an? )(?P<apposed>{_TYPE})(?=,| and |$))?",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(r"\s*(?:,\s*(?:and\s+)?|\s+and\s+|\s+plus\s+)(?:optionally\s+)?", re.IGNORECASE)
_WORDS: Final = re.compile(r"field|key|property", re.IGNORECASE)
_IS_NEEDED: Final = {"required": "yes", "mandatory": "yes", "optional": "no"}


def _read_element(match: re.Match[str], _name: str) -> list[Statement] | None:
    return _read_fields(match["fields"], "[]")


def _read_object(match: re.Match[str], _name: str) -> list[Statement] | None:
    return _read_fields(match["fields"], "")


def _read_fields(text: str, at: str) -> list[Statement] | None:
    """Read fields one after another; None if other words stand between them, or nothing is said about one."""
    statements: list[Statement] = []
    offset = 0
    while offset < len(text):
        field = _FIELD.match(text, offset)
        read = None if field is None else _read_field(field)
        if field is None or read is None:
            return None
        name = field["name"].strip('"')
        statements += [replace(statement, at=f"{at}.{name}{statement.at}") for statement in read]
        joint = _JOINT.match(text, field.end())
        if joint is None and field.end() < len(text):
            return None
        offset = joint.end() if joint else len(text)
    return statements


def _read_field(field: re.Match[str]) -> list[Statement] | None:
    """Read the words around one field; None if they state nothing: marks are lost here, and any word may be a name."""
    statements = []
    if field["presence"]:
        statements.append(Statement("required", _IS_NEEDED[field["presence"].strip().lower()]))
    for words in (field["before"], field["after"], field["apposed"]):
        kinds = parse_types(words) if words and not _WORDS.fullmatch(words) else []
        if kinds is None:
            return None
        statements += type_statements(kinds)
    for words in (field["first"], field["second"]):
        read = _read_note(words.strip()) if words else []
        if read is None:
            return None
        statements += read
    return statements or None


def _read_note(words: str) -> list[Statement] | None:
    """Read the words in brackets, as a whole or part by part; None if a part states nothing."""
    parts = re.split(r"\s*[,;]\s*", words)
    if is_value_list(words) and not any(part.lower() in _IS_NEEDED or parse_types(part) for part in parts):
        return _read(f"one of: {words}")
    if len(parts) > 1 and (whole := _read(words)) is not None:
        return whole
    statements = []
    for part in parts:
        needed = _IS_NEEDED.get(part.lower())
        read = _read(part) if needed is None else [Statement("required", needed)]
        if not read:
            return None
        statements += read
    return statements


def _read(words: str) -> list[Statement] | None:
    every = (*values.RULES, *types.RULES, *ranges.RULES, *limits.RULES, *amounts.RULES, *typed_amounts.RULES)
    return next((read for one in every if (read := one.read(words, "", Preceding.READ)) is not None), None)


RULES: Final = (
    rule(rf"{_ELEMENT} {_HAS} (?P<fields>.+)", _read_element, Preceding.READ),
    rule(rf"{_OBJECT} {_HAS} (?P<fields>.+)", _read_object, Preceding.READ),
)
