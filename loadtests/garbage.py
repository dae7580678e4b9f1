"""Garbage: how often Python's collector looks for it while streams are timed. Each look stops all of them."""

from __future__ import annotations

import gc
from typing import Final

NEW_OBJECTS: Final = 20_000
"""New objects between two looks, megabytes at most; Python's own number is for programs that do not time anything."""
USUAL: Final = gc.get_threshold()


def leave() -> None:
    """A test begins: what is there stays, and what comes is looked at seldom.

    To walk what is there again and again would stop every stream for some 50 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *USUAL[1:])


def mind() -> None:
    """A test has ended: all is as it was."""
    gc.set_threshold(*USUAL)
    gc.unfreeze()
