"""The search finds the highest rate that a server sustains, and reports if no rate holds."""

from __future__ import annotations

import pytest

from loadtests.cli.rate_search import RateSearch, RateStep, is_saturated


def run_search(search: RateSearch, capacity: float) -> RateSearch:
    """Run the search against a server that answers in time up to its capacity, and not at all above it."""
    while (rate := search.next_rate()) is not None:
        holds = rate <= capacity
        good = 1000 if holds else 0
        search.record(RateStep(rate, 1000, good, rate if holds else 0.0, met=holds, saturated=not holds))
    return search


@pytest.mark.parametrize("capacity", [0.3, 1.0, 7.3, 100.0, 999.0])
def test_the_highest_rate_that_holds_is_found_within_the_precision(capacity: float) -> None:
    highest = run_search(RateSearch(first=1.0, greatest=1000.0, share=0.95, precision=0.1), capacity).highest_holding
    assert highest is not None
    assert capacity / 1.1 <= highest <= capacity


def test_a_search_ends_at_the_greatest_rate_and_below_a_hundredth_of_the_first() -> None:
    assert 1000.0 == run_search(RateSearch(1.0, 1000.0, 0.95), 5000.0).highest_holding
    failed = run_search(RateSearch(1.0, 1000.0, 0.95), 0.0)
    assert failed.highest_holding is None
    assert min(step.rate_per_s for step in failed.steps) >= 0.01


def test_a_server_that_falls_behind_is_saturated_and_one_with_a_constant_queue_is_not() -> None:
    assert is_saturated([10] * 10, [5] * 10)
    assert not is_saturated([10] * 10, [5, *[10] * 9])
    assert not is_saturated([10] * 3, [0] * 3)


def test_an_aborted_rate_does_not_hold_however_well_it_began() -> None:
    assert [True, False] == [
        RateStep(1.0, 1000, 1000, 1.0, met=True, saturated=False, aborted=aborted).holds(0.9)
        for aborted in (False, True)
    ]
