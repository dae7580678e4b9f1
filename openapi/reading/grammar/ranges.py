"""Rules for the ranges of numbers, with exact bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.interval import Interval, parse_number
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.vocabulary import COMPARISON, NAME, NUMBER, SET, comparison_interval, parse_union

if TYPE_CHECKING:
    import re

_LEAD: Final = r"(?:取值)?范围[为是:]?\s*|(?:the )?(?:value )?range(?: is|:)? |(?:the value )?must be in "
_MUST: Final = r"(?:the value )?must be |the value is "
_ONE: Final = rf"(?:{SET}|{NUMBER})"
_OR: Final = r"\s*(?:或者|或|\bor\b)\s*"
_AND: Final = r"\s*(?:且|并且|,?\s*\band\b|\bbut\b)\s*"
_COMPARED: Final = (
    rf"(?P<one>{COMPARISON})\s*(?P<bound>{NUMBER})(?:{_AND}(?P<other>{COMPARISON})\s*(?P<limit>{NUMBER}))?"
)


def _sets(match: re.Match[str], _name: str) -> list[Statement] | None:
    intervals = parse_union(match["sets"])
    return None if intervals is None else [Statement("range", intervals)]


def _compared(match: re.Match[str], _name: str) -> list[Statement] | None:
    one = comparison_interval(match["one"].lower(), parse_number(match["bound"]))
    if match["other"] is None:
        return [Statement("range", (one,))]
    other = comparison_interval(match["other"].lower(), parse_number(match["limit"]))
    if (one.low is None) == (other.low is None):
        return None  # two lower bounds, or two upper bounds
    low, high = (one, other) if other.low is None else (other, one)
    return [Statement("range", (Interval(low.low, high.high, low.low_open, high.high_open),))]


def _between(match: re.Match[str], _name: str) -> list[Statement] | None:
    low, high = parse_number(match["low"]), parse_number(match["high"])
    ends = False if match.groupdict().get("closed") else None
    return [Statement("range", (Interval(low, high, ends, ends),))] if low < high else None


def _up_to_another(match: re.Match[str], name: str) -> list[Statement] | None:
    if match[2].lower() != name.lower():
        return None
    return [Statement("range", (Interval(parse_number(match[1]), match[3].lower()),))]


def _from_another(match: re.Match[str], name: str) -> list[Statement] | None:
    return [Statement("range", (Interval(match[2]),))] if match[1] == name else None


RULES: Final = (
    rule(rf"(?:{_LEAD})(?P<sets>{_ONE}(?:{_OR}{_ONE})*)", _sets),
    rule(rf"(?:{_LEAD}|{_MUST}){_COMPARED}", _compared),
    rule(_COMPARED, _compared, Preceding.READ),
    rule(rf"[\u4e00-\u9fff]{{0,8}}介于(?P<low>{NUMBER})和(?P<high>{NUMBER})之间", _between),
    rule(
        rf"(?:(?:the value )?(?:is|must be) )?between (?P<low>{NUMBER}) and (?P<high>{NUMBER})"
        r"(?P<closed>,? inclusive)?",
        _between,
        Preceding.READ,
    ),
    rule(rf"(?:a )?number between (?P<low>{NUMBER}) and (?P<high>{NUMBER})", _between),
    rule(
        rf"(?:there is an?|the) (?:presence |frequency )?penalty (?:is |ranges )?(?:between|from)"
        rf" (?P<low>{NUMBER}) (?:and|to) (?P<high>{NUMBER})(?: and affects .*| and influences .*)?",
        _between,
    ),
    rule(rf"this value must be between ({NUMBER}) <= ({NAME}) <= ({NAME})", _up_to_another),
    rule(rf"({NAME}) must be greater than or equal to ({NAME})", _from_another),
)
