"""Wait for a server that is still starting (`--wait TIME`), in the suite and in load tests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

RETRY_INTERVAL_S: Final = 0.5
"""Seconds between two attempts."""
MAX_ATTEMPT_S: Final = 30.0
"""Time limit for one attempt."""
NOT_READY_STATUSES: Final = frozenset((502, 503, 504))
"""Statuses that a proxy, or the server itself, sends while the model is being loaded."""


class StartupWait:
    """The time that is left for a server to start. It has started when it sends any status but 502, 503 and 504."""

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit_s = limit_s
        self._clock = clock
        self._until_s = clock() + limit_s

    @property
    def attempt_timeout_s(self) -> float:
        """Time limit of the next attempt, in seconds."""
        return max(RETRY_INTERVAL_S, min(MAX_ATTEMPT_S, self._until_s - self._clock()))

    @property
    def expired(self) -> bool:
        """Whether no time is left for another attempt."""
        return self._until_s - self._clock() < RETRY_INTERVAL_S

    def timeout_message(self, last_result: str) -> str:
        """Return the error message; `last_result` describes the last attempt."""
        return f"{last_result}; waited {self._limit_s:g} s for it (--wait)"
