"""Rules for the ranges of numbers, with exact bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.interval import Interval, parse_number
from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import Statement
from openapi.reading.grammar.vocabulary import COMPARISON, NAME, NUMBER, SET, comparison_interval, parse_union

if TYPE_CHECKING:
    import re

    from openapi.reading.grammar.rule import Build

_LEAD: Final = (
    r"(?:取值|数值|所需|必需|有效|可选|允许|合法)?(?:的)?(?:取值)?范围(?:应)?[为是在:]?\s*"
    r"|(?:constraints?:|约束[为是:]|限制[为是:])\s*"
    r"|(?:the )?(?:(?:value|valid|allowed|accepted|supported|required|permitted) )?range(?: is|:| of|: from)?\s*"
    r"|(?:(?:the value |it )?(?:must|should) be |is )?(?:with)?in (?:the )?"
    r"(?:(?:closed )?(?:range|interval)(?: of| from)? )?"
    r"|(?:the value )?must be in "
)
_SUBJECT: Final = (
    r"(?:(?:accepts |allows |supports |takes )?(?:the |a |an )?"
    r"(?:value|number|integer|float|scalar|decimal|penalty)s? )?"
)
_TO: Final = r"(?:(?:and |all the way )?(?:up )?to|up through|through)"
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


def _with_rest(statements: list[Statement] | None, rest: str) -> list[Statement] | None:
    """Add the words that explain the value, which are not read."""
    return None if statements is None else [*statements, Statement("unread", rest)]


def _chain(match: re.Match[str], name: str) -> list[Statement] | None:
    """Read `0 <= x <= 2`; the name between the signs is that of the parameter, or stands for any value."""
    if match["self"].lower() not in (name.lower(), "x", "value", "n", "v"):
        return None
    low, high = parse_number(match["low"]), parse_number(match["high"])
    opened = (match["left"] in ("<",), match["right"] in ("<",))
    return [Statement("range", (Interval(low, high, *opened),))] if low < high else None


def _named(match: re.Match[str], name: str) -> list[Statement] | None:
    """Read `x >= 0`."""
    if match["self"].lower() not in (name.lower(), "x", "value"):
        return None
    return _compared(match, name)


def _from_left(match: re.Match[str], name: str) -> list[Statement] | None:
    """Read `1 <= x`."""
    if match["self"].lower() not in (name.lower(), "x", "value", "n", "v"):
        return None
    return [Statement("range", (Interval(parse_number(match["low"]), low_open=match["left"] == "<"),))]


def _sign(low: int, *, opened: bool) -> Build:
    return lambda _match, _name: [Statement("range", (Interval(low, low_open=opened),))]


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
    rule(
        rf"{_SUBJECT}(?:must be |is )?(?:with)?in (?:the )?(?:range |interval )?(?P<sets>{SET})", _sets, Preceding.READ
    ),
    rule(rf"(?P<one>{COMPARISON})(?: is|:| =|=)?\s*(?P<bound>{NUMBER})(?P<other>(?!))?", _compared, Preceding.READ),
    rule(rf"(?P<sets>{SET}(?:{_OR}{_ONE})*)", _sets, Preceding.READ),
    rule(
        rf"(?P<low>{NUMBER})\s*(?P<left><=?|≤)\s*(?P<self>{NAME})\s*(?P<right><=?|≤)\s*(?P<high>{NUMBER})",
        _chain,
        Preceding.READ,
    ),
    rule(
        rf"(?:{_LEAD})(?P<low>{NUMBER})\s*(?P<left><=?|≤)\s*(?P<self>{NAME})\s*(?P<right><=?|≤)\s*(?P<high>{NUMBER})",
        _chain,
    ),
    rule(rf"(?:{_LEAD})?(?P<self>{NAME})\s*{_COMPARED}", _named, Preceding.READ),
    rule(rf"(?:{_LEAD})?(?P<low>{NUMBER})\s*(?P<left><=?|≤)\s*(?P<self>{NAME})", _from_left, Preceding.READ),
    rule(rf"(?P<self>{NAME})\s*(?:∈|in)\s*(?P<sets>{SET})", _sets, Preceding.READ),
    rule(
        rf"(?:{_LEAD}|from |ranges? from |can be |在\s*)?(?P<low>{NUMBER})\s*(?:{_TO}|~|\.\.\.?|-|至|到)"
        rf"\s*(?P<high>{NUMBER})(?:\s*之?间)?(?P<closed>,? inclusive| \(inclusive\))?",
        _between,
        Preceding.READ,
    ),
    rule(
        rf"(?:{_LEAD})?{_SUBJECT}(?:(?:must|should|has to|can) be |is |ranges? |ranging |varies )?"
        rf"(?:between|from) (?P<low>{NUMBER})"
        rf"\s*(?:and|{_TO}|-)\s*(?P<high>{NUMBER})(?P<closed>,? inclusive| \(inclusive\))?",
        _between,
        Preceding.READ,
    ),
    rule(
        rf"(?:an? )?(?:decimal number|number|integer|float|value) (?:between|from) (?P<low>{NUMBER})"
        rf"\s*(?:and|{_TO}|-)\s*(?P<high>{NUMBER})"
        r"(?P<rest> (?:that|which|specifying|where|of|for|indicating|representing) .+)",
        lambda match, name: _with_rest(_between(match, name), match["rest"]),
        Preceding.READ,
    ),
    rule(
        rf"(?:{_LEAD})?(?P<low>{NUMBER})\+",
        lambda match, _name: [Statement("range", (Interval(parse_number(match["low"])),))],
        Preceding.READ,
    ),
    rule(r"(?:must be |a )?positive(?: integer| number| value)?", _sign(0, opened=True), Preceding.READ),
    rule(r"(?:must be |a )?non-?negative(?: integer| number| value)?", _sign(0, opened=False), Preceding.READ),
    rule(
        rf"[\u4e00-\u9fff]{{0,8}}\s*介于\s*(?P<low>{NUMBER})\s*[和与到至]\s*(?P<high>{NUMBER})\s*之?间"
        r"(?:的(?:一个)?(?:数字?|数值|整数|浮点数|小数|值))?",
        _between,
    ),
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
