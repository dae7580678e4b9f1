"""The search finds the rate from which on a server does not keep up, and says so when there is none."""

from __future__ import annotations

import pytest

from loadtests.cli.rate_search import Search, Step, requests_needed, saturated, wilson_lower


def tried(search: Search, capacity: float) -> Search:
    """The search against a server that answers all in time up to its capacity and none above it."""
    while (rate := search.next_rate()) is not None:
        holds = rate <= capacity
        search.note(Step(rate, 1000, 1000 if holds else 0, rate if holds else 0.0, met=holds, saturated=not holds))
    return search


@pytest.mark.parametrize("capacity", [0.3, 1.0, 7.3, 100.0, 999.0])
def test_the_highest_rate_that_holds_is_found_within_the_precision(capacity: float) -> None:
    found = tried(Search(first=1.0, most=1000.0, share=0.95, precision=0.1), capacity).holding
    assert found is not None
    assert capacity / 1.1 <= found <= capacity


def test_a_search_ends_at_the_highest_rate_and_below_a_hundredth_of_the_first() -> None:
    assert 1000.0 == tried(Search(1.0, 1000.0, 0.95), 5000.0).holding
    nothing = tried(Search(1.0, 1000.0, 0.95), 0.0)
    assert nothing.holding is None
    assert min(step.rate_per_s for step in nothing.steps) >= 0.01


def test_few_answers_prove_little() -> None:
    assert [False, True] == [wilson_lower(count, count) >= 0.95 for count in (20, requests_needed(0.95))]
    assert (0.0, True) == (wilson_lower(0, 0), wilson_lower(50, 100) < 0.5)


def test_a_server_that_falls_behind_is_saturated_and_one_with_a_constant_queue_is_not() -> None:
    assert saturated([10] * 10, [5] * 10)
    assert not saturated([10] * 10, [5, *[10] * 9])
    assert not saturated([10] * 3, [0] * 3)
