"""Python's collector runs seldom during a test, and as before when it has ended."""

from __future__ import annotations

import gc

from loadtests.run import gc_tuning as garbage


def test_the_collector_runs_seldom_between_leave_and_mind() -> None:
    before = gc.get_threshold()
    garbage.leave()
    try:
        during, frozen = gc.get_threshold(), gc.get_freeze_count()
    finally:
        garbage.mind()
    assert (garbage.NEW_OBJECTS, *before[1:]) == during
    assert frozen > 0
    assert (before, 0) == (gc.get_threshold(), gc.get_freeze_count())
