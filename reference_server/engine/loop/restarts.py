"""The policy for restarting an engine after a failure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class RestartPolicy:
    """A limit of `max_restarts` within `window_s` seconds; the pause in front of each restart doubles.

    pause_s: in front of the first restart.
    """

    max_restarts: int = 3
    window_s: float = 600.0
    pause_s: float = 0.25
    _times: deque[float] = field(default_factory=deque)

    def schedule_restart(self, now_s: float) -> float | None:
        """Record a restart at `now_s` and return the seconds to wait; return None if the limit is reached."""
        while self._times and self._times[0] <= now_s - self.window_s:
            self._times.popleft()
        if len(self._times) >= self.max_restarts:
            return None
        pause: float = self.pause_s * 2 ** len(self._times)
        self._times.append(now_s)
        return pause
