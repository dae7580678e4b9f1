"""Measurement of the time that is not part of a step."""

from __future__ import annotations

import time


class Stopwatch:
    """The time that a runner has spent on preparing passes, instead of running them."""

    def __init__(self) -> None:
        self._total_s = 0.0
        self._began_s: float | None = None

    @property
    def current_s(self) -> float:
        """Seconds of the preparation that goes on; 0 if there is none. Any thread may read them."""
        began_s = self._began_s
        return 0.0 if began_s is None else time.monotonic() - began_s

    @property
    def seconds(self) -> float:
        """Seconds of all preparations until now."""
        return self._total_s + self.current_s

    def __enter__(self) -> Stopwatch:
        self._began_s = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._total_s, self._began_s = self.seconds, None
