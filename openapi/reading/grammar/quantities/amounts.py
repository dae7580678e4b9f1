"""Rules for amounts: a number, or two, with the unit that is counted, such as `between 1 and 64 entries`.

What is counted depends on the type of the value: of a list its elements, of a number its range. Such a statement is a
`count` until `settle_amounts` knows the type.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.interval import Interval
from openapi.reading.grammar.quantities.surroundings import is_explanation, is_subject, last_word
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.vocabulary import COMPARISON, comparison_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi.reading.grammar.rule import Build, GrammarRule


COUNT: Final = "count"
_N: Final = r"\d+(?:,\d{3})*(?!\d)"
_UNIT: Final = r"(?P<unit>[a-z][a-z-]*(?: [a-z][a-z-]*){0,2}?|[个条项]?(?:字符|消息|元素|工具|函数|序列)|[个条项])"
_MOST: Final = r",? (?:at (?:the )?most|max(?:imum|\.)?|or (?:fewer|less)|tops)"
_KINDS: Final = {
    "length": re.compile(r"characters?|chars|个?字符"),
    "range": re.compile(r"tokens?"),
    "items": re.compile(
        r"items?|elements?|entry|entries|members?|sequences?|strings?|words?|values?|tools?|functions?|messages?"
        r"|[个条项]?(?:消息|元素|工具|函数|序列)|[个条项]"
    ),
}
"""The attribute that a limit on a number of these units is about."""
_UNCOUNTED: Final = re.compile(r"decimals|digits|places|figures|bytes|always|times")
"""Plurals that count neither elements nor the value itself."""
_NO_UNIT: Final = frozenset({"of", "the", "other", "others", "more", "than", "as", "per", "in", "each", "a", "an"})
_PLURAL: Final = re.compile(r"[a-z-]{2,}[^isu]s")
_UNITS_OF: Final = {"length": {"string"}, "range": {"integer", "number"}}
"""The types of values that an amount of characters or of tokens may limit."""
_NUMERIC: Final = frozenset({"integer", "number"})
_MODAL: Final = r"(?:(?:it |you )?(?:must |can |may |should |will )?"
_VERB: Final = (
    rf"{_MODAL}(?:have|has|contains?|be|is|are|holds?|takes?|accepts?|consists? of|specify|provide|pass|send|give|list"
    r"|include|supports?|allows?) )"
)
_DOUBTFUL: Final = re.compile(r"\b(?:takes?|accepts?|supports?|allows?)\b", re.IGNORECASE)
"""Verbs whose subject may be a model or a service, so that only units that values have are read after them."""
_LEAD: Final = rf"{_VERB}?(?:an? |the )?(?:(?:文本|字符串|列表|数组)?(?:长度|数量|个数)(?:范围)?[为是:]?\s*)?"
_BEFORE: Final = rf"(?:(?P<subject>[^\d;:()]+?)(?:\s*,\s*|\s*:\s*|\s+-\s+|\s*(?P<bracket>\()|\s+(?={_VERB})))??"
_END: Final = (
    r"(?: long| in length| in total| (?:are|is) (?:supported|allowed)| (?:can|may) be (?:provided|given|passed|sent)"
    r"| per request)?"
)
_AFTER: Final = r"(?P<closing>\))?(?P<after> [^\d;:()]+)?"


def _number(text: str) -> int:
    return int(text.replace(",", ""))


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


def _without_unit(match: re.Match[str], _name: str) -> list[Statement] | None:
    """Read `Stop sequences, up to 4`, where the subject is what is counted."""
    word = last_word(match["subject"])
    return _amount(word, Interval(high=_number(match["n"]))) if _attribute(word) == "items" else None


def _number_of(match: re.Match[str], _name: str) -> list[Statement] | None:
    is_lower = match["end"].lower().startswith("min")
    n = _number(match["n"])
    return _amount(match["unit"], Interval(n) if is_lower else Interval(high=n))


def _around(build: Build) -> Build:
    """Make a builder that also accepts a subject and an explanation; both remain unread text, as they may be more."""

    def read(match: re.Match[str], name: str) -> list[Statement] | None:
        groups = match.groupdict()
        subject, after = groups.get("subject"), groups.get("after")
        if (subject and not is_subject(subject, name)) or (after and not is_explanation(after)):
            return None
        if bool(groups.get("bracket")) != bool(groups.get("closing")):
            return None
        statements = build(match, name)
        lead = match[0][len(subject or "") : match.start("n" if "n" in groups else "low")]
        if statements and statements[0].attribute == COUNT and (subject or after or _DOUBTFUL.search(lead)):
            statements = statements if match["unit"].split()[-1].lower() in name.lower().split("_") else None
        return statements and [*statements, *(Statement("unread", words) for words in (subject, after) if words)]

    return read


_COMPARED: Final = rf"(?P<compared>{COMPARISON})(?: length)?(?: is|:)?\s*(?P<n>{_N})"
_TO: Final = r"\s*(?:and|to|through|~|\.\.\.?|-|至|到)\s*"
_RECENT: Final = r"(?:the )?(?:(?:last|latest|first|most recent|newest|previous) )?"
_FORMS: Final[tuple[tuple[str, Build], ...]] = (
    (rf"{_LEAD}{_COMPARED}\s*{_UNIT}{_END}", _compared),
    (rf"{_LEAD}(?:between |from )?(?P<low>{_N}){_TO}(?P<high>{_N})\s*{_UNIT}{_END}", _between),
    (rf"{_LEAD}(?:exactly|precisely) (?P<n>{_N}) {_UNIT}{_END}", _exactly),
    (rf"{_LEAD}(?P<n>{_N})(?: or more|\+) {_UNIT}{_END}", _or_more),
    (rf"{_LEAD}(?P<n>{_N}) or (?:fewer|less) {_UNIT}{_END}", _or_fewer),
    (rf"{_LEAD}{_RECENT}(?P<n>{_N}) {_UNIT}{_END}{_MOST}", _or_fewer),
    (rf"{_LEAD}(?P<n>{_N}) {_UNIT}(?: at (?:the )?least| or more| minimum)", _or_more),
    (
        rf"(?:the )?(?P<end>max(?:imum|\.)?|min(?:imum|\.)?) (?:allowed )?(?:number|count|amount) of {_UNIT}"
        rf"(?: is| =|:)? (?P<n>{_N})",
        _number_of,
    ),
)
_AMOUNTS: Final = tuple(rule(f"{_BEFORE}{form}{_AFTER}", _around(build), Preceding.READ) for form, build in _FORMS)
_OF_TYPE: Final = tuple(
    rule(f"{form}(?P<after> [^\\d;:()]+)?", _around(build), Preceding.READ) for form, build in _FORMS
)
_UNITLESS: Final = rule(
    rf"(?P<subject>[^\d;:()]+?)(?:\s*,\s*|\s*(?P<bracket>\()){_LEAD}"
    rf"(?:up to|at most|no more than|max(?:imum|\.)?(?: of)?) (?P<n>{_N})(?P<closing>\))?",
    _around(_without_unit),
    Preceding.READ,
)


def read_amount(text: str, name: str) -> list[Statement] | None:
    """Read an amount with the words around it, such as `stop sequences, up to 4`; None for other text."""
    return _first_read(RULES, text, name)


def read_bare_amount(text: str, name: str) -> list[Statement] | None:
    """Read an amount without a subject in front of it, such as `has at most 32 characters`; None for other text."""
    return _first_read(_OF_TYPE, text, name)


def _first_read(rules: Iterable[GrammarRule], text: str, name: str) -> list[Statement] | None:
    return next((read for one in rules if (read := one.read(text, name)) is not None), None)


RULES: Final = (
    *_AMOUNTS,
    _UNITLESS,
)


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
    if attribute == "range" and types and not types & _NUMERIC:
        return "items" if "array" in types and _counts(statement.value) else None
    if (
        attribute == "length"
        and types == {"array"}
        and not any(word in statement.text.lower() for word in ("char", "字符"))
    ):
        return "items"
    if types and attribute in _UNITS_OF and not types & _UNITS_OF[attribute] and _has_unit(statement.text, attribute):
        return None
    if attribute not in (COUNT, "items") or (attribute == "items" and not types):
        return attribute if attribute != COUNT else None
    if "array" in types:
        return "items"
    return "range" if types and types <= _NUMERIC else None


def _counts(values: Sequence[Interval]) -> bool:
    """Return whether intervals without a unit can limit a number of elements."""
    bounds = [bound for one in values for bound in (one.low, one.high) if bound is not None]
    return all(not isinstance(bound, str) and bound >= 0 and bound == int(bound) for bound in bounds)


def _has_unit(text: str, attribute: str) -> bool:
    """Return whether the words of a statement contain a unit that only values of certain types have."""
    return any(_KINDS[attribute].fullmatch(word) for word in re.findall(r"[a-z]+|字符", text.lower()))


def _fit_low(values: Sequence[Interval], attribute: str) -> tuple[Interval, ...]:
    """Return the intervals with the lower bound that a statement of this kind has if no words state one."""
    if attribute == "items":
        return tuple(replace(value, low=0) if value.low is None else value for value in values)
    return tuple(replace(value, low=None) if value.low == 0 and value.high else value for value in values)
