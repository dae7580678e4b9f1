"""The passes that an accelerator runs before the server listens, so that no request waits for their preparation."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Seq

PROGRESS_S: Final = 5.0
"""Time between two lines about the progress."""
_log = logging.getLogger(__name__)


class Shape(NamedTuple):
    """A pass over some rows that end at a position.

    prompt_tokens: of each row; 0: the pass is a step. is_uneven: whether only the first row of a step is that long.
    """

    rows: int
    prompt_tokens: int
    last_position: int
    is_uneven: bool = False


def run_warm_up(
    shapes: Seq[Shape], run: Callable[[Shape], None], count_graphs: Callable[[], int], limit_s: float
) -> None:
    """Run passes in order until the time is over.

    run: runs the pass of a shape. count_graphs: returns how many shapes have become graphs.
    """
    began_s = told_s = time.monotonic()
    for done, shape in enumerate(shapes):
        now_s = time.monotonic()
        if now_s - began_s >= limit_s:
            _log.info("warm-up stops after %.1f s, with %d of %d shapes", now_s - began_s, done, len(shapes))
            return
        if now_s - told_s >= PROGRESS_S:
            told_s = now_s
            _log.info("warm-up: %d of %d shapes in %.0f s", done, len(shapes), now_s - began_s)
        run(shape)
    seconds = time.monotonic() - began_s
    _log.info("warm-up: %d shapes in %.1f s, %d of them run as graphs", len(shapes), seconds, count_graphs())
