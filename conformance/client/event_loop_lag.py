"""Detects event-loop stalls, so that late reads are not attributed to the server."""

from __future__ import annotations

import asyncio
import time
from typing import Final

INTERVAL_S: Final = 0.05
"""The time between two timers."""
SHORTEST_STALL_S: Final = 0.25
"""Shorter stalls happen on any busy machine, and no server writes a long answer in that time."""


class EventLoopLag:
    """Runs a periodic timer in the event loop; a late timer shows for how long no answer was read."""

    def __init__(self) -> None:
        self._stalls: list[tuple[float, float]] = []  # (end, duration)
        self._due_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start measuring."""
        self._tick()

    def stop(self) -> None:
        """Stop measuring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def longest_stall_s(self, since: float) -> float:
        """Return the longest stall that ended after `since` (a time of perf_counter) or still lasts.

        Stalls below `SHORTEST_STALL_S` do not count; without any the result is 0.
        """
        ended = (duration for end, duration in self._stalls if end >= since)
        current = time.perf_counter() - self._due_at if self._timer is not None else 0.0
        return max((duration for duration in (*ended, current) if duration >= SHORTEST_STALL_S), default=0.0)

    def _tick(self) -> None:
        now = time.perf_counter()
        if self._timer is not None and now - self._due_at >= SHORTEST_STALL_S:
            self._stalls.append((now, now - self._due_at))
        self._due_at = now + INTERVAL_S
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._tick)
