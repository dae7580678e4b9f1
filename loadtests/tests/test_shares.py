"""Shares: however workers come, every number is one worker's, and one only."""

from __future__ import annotations

from random import Random

import pytest

from loadtests.run.partition import Shares


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_dealt_once_and_all_of_them_however_late_workers_come(seed: int) -> None:
    rng, shares = Random(seed), Shares()
    left = {worker: [*range(first, 400, step)] for worker, (first, step) in shares.deal(["a", "b", "c"])}
    sent: list[int] = []
    for newcomer in "defgh":
        for numbers in left.values():
            sent += [numbers.pop(0) for _ in range(rng.randrange(6)) if numbers]
        donor = shares.donor(newcomer, [*left, newcomer])
        assert donor is not None
        step = 2 * (left[donor][1] - left[donor][0])
        left[newcomer], left[donor] = left[donor][1::2], left[donor][::2]
        shares.given(newcomer, step)
    assert [*range(400)] == sorted([*sent, *(number for numbers in left.values() for number in numbers)])
    steps = {numbers[1] - numbers[0] for numbers in left.values()}
    assert max(steps) <= 2 * min(steps)  # nobody is asked twice before everybody was asked once


def test_nobody_is_asked_for_numbers_that_it_does_not_have() -> None:
    shares = Shares()
    assert None is shares.donor("late", ["late"])
    assert {"a": (0, 2), "b": (1, 2)} == dict(shares.deal(["a", "b"]))
    assert "b" == shares.donor("late", ["b", "late"])
    assert None is shares.donor("late", ["a", "b", "late"])  # it has been promised some
    assert "a" == shares.donor("later", ["a", "late", "later"])  # not of who waits itself
    assert ((0, 2), None) == (shares.dealt("a"), shares.dealt("late"))
