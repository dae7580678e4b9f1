"""Python's garbage collector runs rarely during a test, and as before after it."""

from __future__ import annotations

import gc

from loadtests.run.gc_tuning import NEW_OBJECTS, reduce_collections, restore_collections


def test_collections_are_rare_until_they_are_restored() -> None:
    before = gc.get_threshold()
    reduce_collections()
    try:
        during, frozen = gc.get_threshold(), gc.get_freeze_count()
    finally:
        restore_collections()
    assert (NEW_OBJECTS, *before[1:]) == during
    assert frozen > 0
    assert (before, 0) == (gc.get_threshold(), gc.get_freeze_count())
