"""Convert the kernel's receive times, which are wall-clock times, to the monotonic clock."""

from __future__ import annotations

import time
from typing import Final

RENEW_NS: Final = 1_000_000_000
"""How long an offset is used. A wall clock that is being slewed moves by at most 0.5 ms in this time."""
TRIES: Final = 20
STEP_NS: Final = 1_000_000
"""If the offset changes by more than this, the wall clock was set, not slewed."""


class Clock:
    """The offset between the wall clock and the monotonic clock, measured again every second.

    offset_ns: wall clock minus monotonic clock, valid for wall-clock times up to `until_ns`. steps: how often the wall
    clock was set. unstamped: the number of reads for which the kernel gave no time.
    """

    __slots__ = ("offset_ns", "steps", "unstamped", "until_ns")

    def __init__(self) -> None:
        self.steps = 0
        self.unstamped = 0
        self.offset_ns = _measure_offset_ns()
        self.until_ns = time.time_ns() + RENEW_NS

    def monotonic_ns(self, wall_ns: int) -> int:
        """Convert a wall-clock time of the last second to the monotonic clock."""
        if wall_ns > self.until_ns:
            self._renew()
        return wall_ns - self.offset_ns

    def renew_offset_ns(self) -> int:
        """Return the offset for wall-clock times of the last second, measured again if it is too old."""
        if time.time_ns() > self.until_ns:
            self._renew()
        return self.offset_ns

    def _renew(self) -> None:
        offset_ns = _measure_offset_ns()
        self.steps += abs(offset_ns - self.offset_ns) > STEP_NS
        self.offset_ns = offset_ns
        self.until_ns = time.time_ns() + RENEW_NS


def _measure_offset_ns() -> int:
    """Return wall clock minus monotonic clock, from the fastest of several tries: an interrupted try takes longer."""
    readings = []
    for _ in range(TRIES):
        before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
    return min(readings)[1]
