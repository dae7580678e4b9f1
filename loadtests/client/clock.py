"""The clock: kernel receive times, which are wall-clock, as times of the monotonic clock."""

from __future__ import annotations

import time
from typing import Final

HELD_NS: Final = 1_000_000_000
"""An anchor is used for so long: a wall clock that is being slewed moves by at most 0.5 ms in it."""
TRIES: Final = 20
STEP_NS: Final = 1_000_000
"""Two anchors that differ by more mean that the wall clock was set, not slewed."""


class Clock:
    """Holds the distance between the two clocks: `offset_ns`, good for stamps up to `until_ns` on the wall. `steps`
    counts how often the wall clock was set meanwhile, `unstamped` reads that the kernel gave no time for."""

    __slots__ = ("offset_ns", "steps", "unstamped", "until_ns")

    def __init__(self) -> None:
        self.steps = 0
        self.unstamped = 0
        self.offset_ns = _offset_ns()
        self.until_ns = time.time_ns() + HELD_NS

    def monotonic_ns(self, wall_ns: int) -> int:
        """The monotonic time of a wall-clock stamp of the last second."""
        if wall_ns > self.until_ns:
            self._renew()
        return wall_ns - self.offset_ns

    def renewed_ns(self) -> int:
        """The offset, good for what came within the last second."""
        if time.time_ns() > self.until_ns:
            self._renew()
        return self.offset_ns

    def _renew(self) -> None:
        offset_ns = _offset_ns()
        self.steps += abs(offset_ns - self.offset_ns) > STEP_NS
        self.offset_ns = offset_ns
        self.until_ns = time.time_ns() + HELD_NS


def _offset_ns() -> int:
    """Wall clock less monotonic clock, from the narrowest of a few readings: an interrupted one is wide."""
    readings = []
    for _ in range(TRIES):
        before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
    return min(readings)[1]
