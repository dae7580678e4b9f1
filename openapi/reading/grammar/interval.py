"""Intervals: ranges with their exact ends, as a page words them and as a schema holds them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Number = int | Decimal
Bound = Number | str  # a name stands for another parameter's value


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`; an end that is None does not exist.

    `low_open` and `high_open` say whether the end itself is left out; None: the page does not say.
    """

    low: Bound | None = None
    high: Bound | None = None
    low_open: bool | None = False
    high_open: bool | None = False

    def __str__(self) -> str:
        """In the notation of mathematics; `low..high` where the page does not say whether the ends belong to it."""
        if self.low is not None and self.low == self.high:
            return spoken_number(self.low)
        low = "-∞" if self.low is None else spoken_number(self.low)
        high = "∞" if self.high is None else spoken_number(self.high)
        if self.low_open is None or self.high_open is None:
            return f"{low}..{high}"
        left = "(" if self.low_open or self.low is None else "["
        right = ")" if self.high_open or self.high is None else "]"
        return f"{left}{low}, {high}{right}"


Range = tuple[Interval, ...]  # their union; empty: nothing is said


def number(text: str) -> Number:
    """The number a text shows, exactly: an int when it is written as one, else a Decimal."""
    return int(text) if text.lstrip("+-").isdigit() else Decimal(text)


def exact(value: float) -> Number:
    """A number of the contract, exactly as its data show it."""
    return value if isinstance(value, int) else Decimal(repr(value))


def spoken_number(value: Bound) -> str:
    """A number without needless digits; 2.0 and 2 are the same."""
    if isinstance(value, str):
        return value
    if value == (whole := int(value)) and abs(whole) < 10**21:
        return str(whole)
    return str(value.normalize()) if isinstance(value, Decimal) else str(value)


def spoken(values: Range) -> str:
    """A range in words: its intervals, joined by `or`."""
    return " or ".join(map(str, values))


def same(left: Range, right: Range, *, whole: bool) -> bool:
    """Whether two ranges hold the same values. `whole`: among integers, where (0, 3] is [1, 3].

    An end of which a page does not say whether it belongs to the range fits both.
    """
    one, other = (closed_and_merged(values) if whole else values for values in (left, right))
    return len(one) == len(other) and all(map(_fits, one, other))


def _fits(one: Interval, other: Interval) -> bool:
    def ends(low: bool | None, high: bool | None) -> bool:
        return low is None or high is None or low == high

    return (
        (one.low, one.high) == (other.low, other.high)
        and (one.low is None or ends(one.low_open, other.low_open))
        and (one.high is None or ends(one.high_open, other.high_open))
    )


def merged(values: Iterable[Interval]) -> Range:
    """The same values in as few intervals; open ends stay, so only closed ones are joined."""
    given = list(values)
    if len(given) < 2 or any(each.low_open or each.high_open for each in given):
        return tuple(given)
    return closed_and_merged(given)


def closed_and_merged(values: Iterable[Interval]) -> Range:
    """The same integers in closed intervals that neither touch nor overlap, lowest first."""
    closed = [each for each in map(_closed, values) if not _is_empty(each)]
    if any(isinstance(end, str) for each in closed for end in (each.low, each.high)):
        return tuple(closed)
    joined: list[Interval] = []
    for each in sorted(closed, key=lambda item: (item.low is not None, item.low or 0)):
        last = joined[-1] if joined else None
        if last is None or _apart(last, each):
            joined.append(each)
        elif last.high is not None and (each.high is None or _above(each.high, last.high)):
            joined[-1] = Interval(last.low, each.high)
    return tuple(joined)


def _closed(each: Interval) -> Interval:
    low, high = each.low, each.high
    if isinstance(low, int) and each.low_open:
        low += 1
    if isinstance(high, int) and each.high_open:
        high -= 1
    return Interval(low, high, None if each.low_open is None else False, None if each.high_open is None else False)


def _is_empty(each: Interval) -> bool:
    """Whether no whole number lies in a closed interval."""
    return each.low is not None and each.high is not None and _above(each.low, each.high)


def _apart(last: Interval, each: Interval) -> bool:
    """Whether a whole number lies between the two."""
    return last.high is not None and each.low is not None and _above(each.low, last.high, gap=1)


def _above(one: Bound, other: Bound, gap: int = 0) -> bool:
    return not isinstance(one, str) and not isinstance(other, str) and one > other + gap
