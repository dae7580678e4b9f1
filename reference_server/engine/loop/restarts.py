"""Restarts: how often an engine that died may begin again, and how long it waits before."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class RestartPolicy:
    """At most `max_restarts` within `window_s` seconds; the wait doubles with each of them.

    pause_s: before the first.
    """

    max_restarts: int = 3
    window_s: float = 600.0
    pause_s: float = 0.25
    _times: deque[float] = field(default_factory=deque)

    def schedule_restart(self, now_s: float) -> float | None:
        """Seconds to wait before the next restart, which counts from now on; None: there have been enough."""
        while self._times and self._times[0] <= now_s - self.window_s:
            self._times.popleft()
        if len(self._times) >= self.max_restarts:
            return None
        pause: float = self.pause_s * 2 ** len(self._times)
        self._times.append(now_s)
        return pause
