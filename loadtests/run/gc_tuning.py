"""Let Python's garbage collector run rarely while streams are timed, since each run stops all of them."""

from __future__ import annotations

import gc
from typing import Final

NEW_OBJECTS: Final = 20_000
"""The collector runs after this many new objects, at most a few megabytes; Python's default is at most 2,000."""
DEFAULT: Final = gc.get_threshold()
"""The thresholds before any test."""


def reduce_collections() -> None:
    """Exclude existing objects from collection, and collect new ones rarely.

    A full collection stops every stream for about 50 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *DEFAULT[1:])


def restore_collections() -> None:
    """Let the collector run as before the test."""
    gc.set_threshold(*DEFAULT)
    gc.unfreeze()
