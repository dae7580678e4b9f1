"""Garbage: how often Python's collector runs while streams are timed, since each run stops all of them."""

from __future__ import annotations

import gc
from typing import Final

NEW_OBJECTS: Final = 20_000
"""The collector runs after so many new objects, a few megabytes at most. Python's own number is a tenth at most."""
USUAL: Final = gc.get_threshold()
"""The thresholds before any test began."""


def leave() -> None:
    """A test begins: what exists already is never walked again, and what is new seldom.

    Walking everything stops every stream for some 50 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *USUAL[1:])


def mind() -> None:
    """A test has ended: the collector works as before it."""
    gc.set_threshold(*USUAL)
    gc.unfreeze()
