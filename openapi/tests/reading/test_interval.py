"""Intervals: ranges with the same values are equal, however they are written."""

from __future__ import annotations

import random
from decimal import Decimal

from openapi.reading.grammar.interval import (
    Interval,
    Range,
    exact_number,
    format_range,
    merge,
    merge_integers,
    parse_number,
    same_values,
)


def values(intervals: Range, low: int, high: int) -> set[int]:
    """Return the integers of a range between two bounds."""

    def contains(one: Interval, value: int) -> bool:
        assert isinstance(one.low, int)
        assert isinstance(one.high, int)
        return one.low + bool(one.low_open) <= value <= one.high - bool(one.high_open)

    return {value for value in range(low, high + 1) if any(contains(one, value) for one in intervals)}


def random_range(rng: random.Random) -> Range:
    count = rng.randint(1, 3)
    intervals = []
    for _ in range(count):
        low = rng.randint(-9, 9)
        intervals.append(Interval(low, low + rng.randint(1, 9), rng.random() < 0.5, rng.random() < 0.5))
    return tuple(intervals)


def test_ranges_are_equal_exactly_if_they_contain_the_same_integers() -> None:
    rng = random.Random(11)
    outcomes = set()
    for _ in range(4000):
        one, other = random_range(rng), random_range(rng)
        expected = values(one, -30, 30) == values(other, -30, 30)
        assert same_values(one, other, whole=True) == expected, (format_range(one), format_range(other))
        outcomes.add(expected)
        assert values(merge_integers(one), -30, 30) == values(one, -30, 30)
        assert same_values(one, merge_integers(one), whole=True)
    assert outcomes == {True, False}


def test_an_interval_without_an_integer_is_empty() -> None:
    empty = (Interval(3, 4, low_open=True, high_open=True),)
    assert merge_integers(empty) == ()
    assert same_values(empty, (Interval(7, 8, low_open=True, high_open=True),), whole=True)


def test_open_and_closed_bounds_differ_for_all_numbers() -> None:
    closed, opened = (Interval(0, 2),), (Interval(0, 2, low_open=True),)
    assert not same_values(closed, opened, whole=False)
    assert same_values(closed, (Interval(Decimal("0.0"), Decimal("2.0")),), whole=False)
    assert same_values((Interval(1, 2),), opened, whole=True)


def test_a_bound_that_is_unclear_equals_open_and_closed_bounds() -> None:
    unclear = (Interval(0, 2, None, None),)
    for low_open in (True, False):
        assert same_values(unclear, (Interval(0, 2, low_open),), whole=False)
    assert not same_values(unclear, (Interval(0, 3),), whole=False)
    assert not same_values(unclear, (Interval(0),), whole=False)


def test_named_bounds_are_compared_by_name() -> None:
    assert same_values((Interval(1, "best_of"),), (Interval(1, "best_of"),), whole=True)
    assert not same_values((Interval(1, "best_of"),), (Interval(1, 19),), whole=True)


def test_ranges_are_formatted_in_mathematical_notation() -> None:
    assert [
        format_range(intervals)
        for intervals in (
            (Interval(Decimal("0.0"), Decimal("2.0"), low_open=True),),
            (Interval(0),),
            (Interval(None, 3, high_open=True),),
            (Interval(-1, -1), Interval(0, 2147483647, low_open=True)),
            (Interval(Decimal("-2.0"), Decimal("2.0"), None, None),),
            (Interval(1, "best_of"),),
            (Interval(Decimal("1e-6"), 1, low_open=True),),
            (Interval(0, 2**64 - 1),),
            (),
        )
    ] == [
        "(0, 2]",
        "[0, ∞)",
        "(-∞, 3)",
        "-1 or (0, 2147483647]",
        "-2..2",
        "[1, best_of]",
        "(0.000001, 1]",
        "[0, 18446744073709551615]",
        "",
    ]


def test_numbers_are_parsed_exactly() -> None:
    assert [parse_number("7"), parse_number("-1"), parse_number("0.1"), parse_number("1e-6")] == [
        7,
        -1,
        Decimal("0.1"),
        Decimal("0.000001"),
    ]
    assert [exact_number(0.1), exact_number(5), exact_number(1e-06)] == [
        Decimal("0.1"),
        5,
        Decimal("0.000001"),
    ]
    assert parse_number(str(2**64 - 1)) == 2**64 - 1


def test_closed_intervals_that_touch_are_joined() -> None:
    assert merge([Interval(0, 3), Interval(4, 9)]) == (Interval(0, 9),)
    assert merge([Interval(0, 3), Interval(5, 9)]) == (Interval(0, 3), Interval(5, 9))
    assert merge([Interval(1), Interval(0, 0)]) == (Interval(0),)
    assert merge([]) == ()
