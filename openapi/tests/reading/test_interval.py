"""Intervals: the same values are the same range, however they are written."""

from __future__ import annotations

import random
from decimal import Decimal

from openapi.reading.grammar.interval import Interval, Range, closed_and_merged, exact, merged, number, same, spoken


def values(each: Range, low: int, high: int) -> set[int]:
    """The whole numbers of a range between two others."""

    def holds(one: Interval, value: int) -> bool:
        assert isinstance(one.low, int)
        assert isinstance(one.high, int)
        return one.low + bool(one.low_open) <= value <= one.high - bool(one.high_open)

    return {value for value in range(low, high + 1) if any(holds(one, value) for one in each)}


def some(rng: random.Random) -> Range:
    count = rng.randint(1, 3)
    found = []
    for _ in range(count):
        low = rng.randint(-9, 9)
        found.append(Interval(low, low + rng.randint(1, 9), rng.random() < 0.5, rng.random() < 0.5))
    return tuple(found)


def test_ranges_are_the_same_exactly_when_they_hold_the_same_whole_numbers() -> None:
    rng = random.Random(11)
    outcomes = set()
    for _ in range(4000):
        one, other = some(rng), some(rng)
        expected = values(one, -30, 30) == values(other, -30, 30)
        assert same(one, other, whole=True) == expected, (spoken(one), spoken(other))
        outcomes.add(expected)
        assert values(closed_and_merged(one), -30, 30) == values(one, -30, 30)
        assert same(one, closed_and_merged(one), whole=True)
    assert outcomes == {True, False}


def test_intervals_without_a_whole_number_are_none() -> None:
    nothing = (Interval(3, 4, low_open=True, high_open=True),)
    assert closed_and_merged(nothing) == ()
    assert same(nothing, (Interval(7, 8, low_open=True, high_open=True),), whole=True)


def test_among_all_numbers_the_ends_count() -> None:
    closed, opened = (Interval(0, 2),), (Interval(0, 2, low_open=True),)
    assert not same(closed, opened, whole=False)
    assert same(closed, (Interval(Decimal("0.0"), Decimal("2.0")),), whole=False)
    assert same((Interval(1, 2),), opened, whole=True)


def test_ends_that_a_page_leaves_open_fit_both() -> None:
    unsaid = (Interval(0, 2, None, None),)
    for low_open in (True, False):
        assert same(unsaid, (Interval(0, 2, low_open),), whole=False)
    assert not same(unsaid, (Interval(0, 3),), whole=False)
    assert not same(unsaid, (Interval(0),), whole=False)


def test_named_ends_are_the_same_only_by_name() -> None:
    assert same((Interval(1, "best_of"),), (Interval(1, "best_of"),), whole=True)
    assert not same((Interval(1, "best_of"),), (Interval(1, 19),), whole=True)


def test_ranges_are_spoken_in_the_notation_of_mathematics() -> None:
    assert [
        spoken(each)
        for each in (
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


def test_numbers_are_exact_as_they_are_written() -> None:
    assert [number("7"), number("-1"), number("0.1"), number("1e-6")] == [7, -1, Decimal("0.1"), Decimal("0.000001")]
    assert [exact(0.1), exact(5), exact(1e-06)] == [Decimal("0.1"), 5, Decimal("0.000001")]
    assert number(str(2**64 - 1)) == 2**64 - 1


def test_closed_intervals_that_touch_are_one() -> None:
    assert merged([Interval(0, 3), Interval(4, 9)]) == (Interval(0, 9),)
    assert merged([Interval(0, 3), Interval(5, 9)]) == (Interval(0, 3), Interval(5, 9))
    assert merged([Interval(1), Interval(0, 0)]) == (Interval(0),)
    assert merged([]) == ()
