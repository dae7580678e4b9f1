"""Restarts: how often an engine that died may begin again, and how long it waits before."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Restarts:
    """At most `most` within `window_s` seconds; the wait doubles with each of them.

    pause_s: before the first.
    """

    most: int = 3
    window_s: float = 600.0
    pause_s: float = 0.25
    _taken: deque[float] = field(default_factory=deque)

    def next_pause_s(self, now_s: float) -> float | None:
        """Seconds to wait before the next restart, which counts from now on; None: there have been enough."""
        while self._taken and self._taken[0] <= now_s - self.window_s:
            self._taken.popleft()
        if len(self._taken) >= self.most:
            return None
        pause: float = self.pause_s * 2 ** len(self._taken)
        self._taken.append(now_s)
        return pause
