"""Confidence intervals of shares are wide with few trials."""

from __future__ import annotations

from loadtests.measure.confidence import min_trials, wilson_interval


def test_few_trials_prove_little() -> None:
    assert [False, True] == [wilson_interval(count, count)[0] >= 0.95 for count in (20, min_trials(0.95))]
    lower, upper = wilson_interval(50, 100)
    assert lower < 0.5 < upper


def test_without_trials_any_share_is_possible() -> None:
    assert (0.0, 1.0) == wilson_interval(0, 0)
