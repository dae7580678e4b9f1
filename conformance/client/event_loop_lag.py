"""The pulse: when this process did not run, so that what then came at once is not laid at a server's door."""

from __future__ import annotations

import asyncio
import time
from typing import Final

BEAT_S: Final = 0.05
LONG_S: Final = 0.25
"""Shorter hold-ups are what any busy machine has, and no server makes a long answer in one."""


class Pulse:
    """Beats in the event loop while it is entered; a beat that comes late says how long nobody attended to answers."""

    def __init__(self) -> None:
        self._held_up: list[tuple[float, float]] = []  # when a hold-up ended, and how long it was
        self._due_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """From now on."""
        self._beat()

    def end(self) -> None:
        """No longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def longest_s(self, since: float) -> float:
        """The longest hold-up (LONG_S or more) that lasts or ended after a time of perf_counter; 0: there was none."""
        ended = (length for at, length in self._held_up if at >= since)
        lasting = time.perf_counter() - self._due_at if self._timer is not None else 0.0
        return max((length for length in (*ended, lasting) if length >= LONG_S), default=0.0)

    def _beat(self) -> None:
        now = time.perf_counter()
        if self._timer is not None and now - self._due_at >= LONG_S:
            self._held_up.append((now, now - self._due_at))
        self._due_at = now + BEAT_S
        self._timer = asyncio.get_running_loop().call_later(BEAT_S, self._beat)
