"""Rules for amounts: a number, or two, with the unit that is counted, such as `between 1 and 64 entries`.

What is counted depends on the type of the value: of a list its elements, of a number its range. Such a statement is a
`count` until `settle_amounts` knows the type.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.interval import Interval
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.types import parse_types, type_statements
from openapi.reading.grammar.vocabulary import COMPARISON, TYPE, comparison_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi.reading.grammar.rule import Build


COUNT: Final = "count"
_NUMBER_WORDS: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_N: Final = rf"(?:\d+(?:,\d{{3}})*(?!\d)|(?:{'|'.join(_NUMBER_WORDS)})\b)"
_UNIT: Final = r"(?P<unit>[a-z][a-z-]*(?: [a-z][a-z-]*){0,2}?|字符|个|项)"
_KINDS: Final = {
    "length": re.compile(r"characters?|chars|字符"),
    "range": re.compile(r"tokens?"),
    "items": re.compile(
        r"items?|elements?|entry|entries|members?|sequences?|strings?|words?|values?|tools?|functions?|messages?|个|项"
    ),
}
"""The attribute that a limit on a number of these units is about."""
_UNCOUNTED: Final = re.compile(r"decimals|digits|places|figures|bytes|always|times")
"""Plurals that count neither elements nor the value itself."""
_NO_UNIT: Final = frozenset({"of", "the", "other", "others", "more", "than", "as", "per", "in", "each", "a", "an"})
_PLURAL: Final = re.compile(r"[a-z-]{2,}[^isu]s")
_NUMERIC: Final = frozenset({"integer", "number"})
_LEAD: Final = (
    r"(?:(?:it )?(?:must |can |may |should )?(?:have|has|contains?|be|is|holds?|takes?|accepts?|specify|provide"
    r"|supports?|allows?) )?(?:an? |the )?"
)
_END: Final = r"(?: long| in length| in total| (?:are|is) (?:supported|allowed)| can be provided| per request)?"


def _number(text: str) -> int:
    word = text.lower()
    return _NUMBER_WORDS.index(word) if word in _NUMBER_WORDS else int(word.replace(",", ""))


def _attribute(unit: str) -> str | None:
    """Return what a limit on a number of these units is about; None for other words."""
    words = unit.lower().split()
    if _NO_UNIT & set(words):
        return None
    known = next((attribute for attribute, units in _KINDS.items() if units.fullmatch(words[-1])), None)
    return known or (COUNT if _PLURAL.fullmatch(words[-1]) and not _UNCOUNTED.fullmatch(words[-1]) else None)


def _amount(unit: str, interval: Interval) -> list[Statement] | None:
    attribute = _attribute(unit)
    if attribute is None:
        return None
    if attribute in ("length", "items") and interval.low is None:
        interval = Interval(0, interval.high, high_open=interval.high_open)
    return [Statement(attribute, (interval,))]


def _compared(match: re.Match[str], _name: str) -> list[Statement] | None:
    return _amount(match["unit"], comparison_interval(match["compared"].lower(), _number(match["n"])))


def _between(match: re.Match[str], _name: str) -> list[Statement] | None:
    low, high = _number(match["low"]), _number(match["high"])
    return _amount(match["unit"], Interval(low, high)) if low <= high else None


def _exactly(match: re.Match[str], _name: str) -> list[Statement] | None:
    return _amount(match["unit"], Interval(_number(match["n"]), _number(match["n"])))


def _or_more(match: re.Match[str], _name: str) -> list[Statement] | None:
    return _amount(match["unit"], Interval(_number(match["n"])))


def _or_fewer(match: re.Match[str], _name: str) -> list[Statement] | None:
    return _amount(match["unit"], Interval(high=_number(match["n"])))


_COMPARED: Final = rf"(?P<compared>{COMPARISON})(?: length)?(?: is|:)?\s*(?P<n>{_N})"
_TO: Final = r"\s*(?:and|to|through|~|\.\.\.?|-|至|到)\s*"
_FORMS: Final[tuple[tuple[str, Build], ...]] = (
    (rf"{_COMPARED}\s*", _compared),
    (rf"(?:between |from )?(?P<low>{_N}){_TO}(?P<high>{_N})\s*", _between),
    (rf"(?:exactly|precisely) (?P<n>{_N}) ", _exactly),
    (rf"(?P<n>{_N})(?: or more|\+) ", _or_more),
    (rf"(?P<n>{_N}) or (?:fewer|less) ", _or_fewer),
)
_AMOUNTS: Final = tuple(rule(f"{_LEAD}{form}{_UNIT}{_END}", build, Preceding.READ) for form, build in _FORMS)
_OF: Final = r"(?:of|with|containing|that (?:has|holds|contains))"


def _of_type(match: re.Match[str], name: str) -> list[Statement] | None:
    """Read `a string of up to 64 characters`."""
    types = parse_types(match["type"])
    amounts = (one.read(match["amount"], name) for one in _AMOUNTS)
    amount = next((statements for statements in amounts if statements is not None), None)
    return None if types is None or amount is None else [*type_statements(types), *amount]


RULES: Final = (*_AMOUNTS, rule(rf"(?:an? )?(?P<type>{TYPE}) {_OF} (?P<amount>.+)", _of_type, Preceding.READ))


def settle_amounts(statements: Iterable[Statement]) -> tuple[list[Statement], list[str]]:
    """Return the statements with amounts that fit the stated types, and the text of those that fit none."""
    listed = list(statements)
    settled: list[Statement] = []
    unread: list[str] = []
    for statement in listed:
        types = {name for other in listed if _states_types(other, statement.at) for name in other.value}
        attribute = _settled(statement, types)
        if attribute is None:
            unread.append(statement.text)
        elif attribute == statement.attribute:
            settled.append(statement)
        else:
            settled.append(replace(statement, attribute=attribute, value=_fit_low(statement.value, attribute)))
    return settled, list(dict.fromkeys(unread))


def _states_types(statement: Statement, at: str) -> bool:
    return statement.attribute in ("types", "also") and statement.at == at


def _settled(statement: Statement, types: set[str]) -> str | None:
    """Return the attribute of a statement for a value of these types; None if it fits none of them."""
    attribute = statement.attribute
    if (
        attribute == "length"
        and types == {"array"}
        and not any(word in statement.text.lower() for word in ("char", "字符"))
    ):
        return "items"
    if attribute not in (COUNT, "items") or (attribute == "items" and not types):
        return attribute if attribute != COUNT else None
    if "array" in types:
        return "items"
    return "range" if types and types <= _NUMERIC else None


def _fit_low(values: Sequence[Interval], attribute: str) -> tuple[Interval, ...]:
    """Return the intervals with the lower bound that a statement of this kind has if no words state one."""
    if attribute == "items":
        return tuple(replace(value, low=0) if value.low is None else value for value in values)
    return tuple(replace(value, low=None) if value.low == 0 and value.high else value for value in values)
