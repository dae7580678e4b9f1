"""Rules for keywords and values one after another, such as `Constraints: minimum: 0 maximum: 2 default: 1`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.interval import Interval, parse_number
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.vocabulary import NUMBER, QUOTED, parse_literal

if TYPE_CHECKING:
    from openapi.reading.grammar.interval import Number

_END: Final = (
    r"(?:(?P<open>exclusive\s*)?(?P<end>min|max)(?:imum)?\.?(?:\s*(?P<of>items?|elements?|length|characters?))?)"
)
_KEYWORD: Final = rf"(?:{_END}|(?P<default>default)(?: value)?)"
_LITERAL: Final = rf"(?:{NUMBER}|{QUOTED}|true|false|null)"
_PAIR: Final = re.compile(rf"{_KEYWORD}\s*[:=]\s*(?P<value>{_LITERAL})[\s,;.]*", re.IGNORECASE)
_ANY_PAIR: Final = re.sub(r"\(\?P<\w+>", "(?:", _PAIR.pattern)
_OF: Final = {"item": "items", "element": "items", "length": "length", "character": "length"}


def _read_pairs(match: re.Match[str], _name: str) -> list[Statement] | None:
    statements = []
    for pair in _PAIR.finditer(match["pairs"]):
        if pair["default"]:
            value = pair["value"] if pair["value"].startswith('"') else pair["value"].lower()
            statements.append(Statement("default", parse_literal(value)))
            continue
        if not re.fullmatch(NUMBER, pair["value"]):
            return None
        attribute = _OF.get((pair["of"] or "").lower().removesuffix("s"), "range")
        statements.append(Statement(attribute, (_bound(pair, parse_number(pair["value"]), attribute),)))
    return statements


def _bound(pair: re.Match[str], value: Number, attribute: str) -> Interval:
    is_open = bool(pair["open"])
    if pair["end"].lower() == "min":
        return Interval(value, low_open=is_open)
    return Interval(None if attribute == "range" else 0, value, high_open=is_open)


RULES: Final = (
    rule(rf"(?:(?:constraints?|limits?|约束|限制):\s*)?(?P<pairs>(?:{_ANY_PAIR})+)", _read_pairs, Preceding.READ),
)
