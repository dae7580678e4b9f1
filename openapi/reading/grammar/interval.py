"""Intervals with exact bounds, from the words of a page or the keywords of a schema."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Number = int | Decimal
Bound = Number | str  # a string is the name of another parameter, whose value is the bound


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`; None stands for an unbounded side.

    `low_open` and `high_open` tell whether the bound itself is excluded; None: the page does not specify it.
    """

    low: Bound | None = None
    high: Bound | None = None
    low_open: bool | None = False
    high_open: bool | None = False

    def __str__(self) -> str:
        """Format as `(low, high]`, or as `low..high` if the page does not specify whether the bounds are included."""
        if self.low is not None and self.low == self.high:
            return format_bound(self.low)
        low = "-∞" if self.low is None else format_bound(self.low)
        high = "∞" if self.high is None else format_bound(self.high)
        if self.low_open is None or self.high_open is None:
            return f"{low}..{high}"
        left = "(" if self.low_open or self.low is None else "["
        right = ")" if self.high_open or self.high is None else "]"
        return f"{left}{low}, {high}{right}"


Range = tuple[Interval, ...]  # the union of the intervals; empty: the range is not stated


def parse_number(text: str) -> Number:
    """Parse a number exactly: as an int if it is written as one, else as a Decimal."""
    return int(text) if text.lstrip("+-").isdigit() else Decimal(text)


def exact_number(value: float) -> Number:
    """Convert a number of the contract to its exact decimal value."""
    return value if isinstance(value, int) else Decimal(repr(value))


def format_bound(value: Bound) -> str:
    """Format a bound without redundant digits, so that 2.0 and 2 are the same."""
    if isinstance(value, str):
        return value
    if value == (whole := int(value)) and abs(whole) < 10**21:
        return str(whole)
    return str(value.normalize()) if isinstance(value, Decimal) else str(value)


def format_range(values: Range) -> str:
    """Format a range: its intervals, joined by `or`."""
    return " or ".join(map(str, values))


def same_values(left: Range, right: Range, *, whole: bool) -> bool:
    """Return whether two ranges contain the same values. `whole`: compare integers only, for which (0, 3] is [1, 3].

    A bound that may be included or excluded is equal to both.
    """
    one, other = (merge_integers(values) if whole else values for values in (left, right))
    return len(one) == len(other) and all(map(_same_interval, one, other))


def meet(one: Range, other: Range) -> Range | None:
    """Join a lower and an upper bound that are stated separately; None if these are not one of each."""
    if len(one) != 1 or len(other) != 1:
        return None
    low, high = (one[0], other[0]) if one[0].high is None else (other[0], one[0])
    if low.high is not None or low.low is None or high.high is None or high.low not in (None, 0):
        return None
    if high.low == 0 and high.low_open is None:
        return None
    if not isinstance(low.low, str) and not isinstance(high.high, str) and low.low > high.high:
        return None
    return (Interval(low.low, high.high, low.low_open, high.high_open),)


def _same_interval(one: Interval, other: Interval) -> bool:
    def same_openness(left: bool | None, right: bool | None) -> bool:
        return left is None or right is None or left == right

    return (
        (one.low, one.high) == (other.low, other.high)
        and (one.low is None or same_openness(one.low_open, other.low_open))
        and (one.high is None or same_openness(one.high_open, other.high_open))
    )


def merge(values: Iterable[Interval]) -> Range:
    """Join intervals that touch or overlap, unless one of them has an open bound."""
    given = list(values)
    if len(given) < 2 or any(interval.low_open or interval.high_open for interval in given):
        return tuple(given)
    return merge_integers(given)


def merge_integers(values: Iterable[Interval]) -> Range:
    """Return the same integers as closed intervals that neither touch nor overlap, in ascending order."""
    closed = [interval for interval in map(_closed, values) if not _is_empty(interval)]
    if any(isinstance(bound, str) for interval in closed for bound in (interval.low, interval.high)):
        return tuple(closed)
    joined: list[Interval] = []
    for interval in sorted(closed, key=lambda item: (item.low is not None, item.low or 0)):
        last = joined[-1] if joined else None
        if last is None or _is_separate(last, interval):
            joined.append(interval)
        elif last.high is not None and (interval.high is None or _above(interval.high, last.high)):
            joined[-1] = Interval(last.low, interval.high)
    return tuple(joined)


def _closed(interval: Interval) -> Interval:
    low, high = interval.low, interval.high
    if isinstance(low, int) and interval.low_open:
        low += 1
    if isinstance(high, int) and interval.high_open:
        high -= 1
    return Interval(
        low, high, None if interval.low_open is None else False, None if interval.high_open is None else False
    )


def _is_empty(interval: Interval) -> bool:
    """Return whether a closed interval contains no integer."""
    return interval.low is not None and interval.high is not None and _above(interval.low, interval.high)


def _is_separate(last: Interval, interval: Interval) -> bool:
    """Return whether there is an integer between two intervals."""
    return last.high is not None and interval.low is not None and _above(interval.low, last.high, gap=1)


def _above(one: Bound, other: Bound, gap: int = 0) -> bool:
    return not isinstance(one, str) and not isinstance(other, str) and one > other + gap
