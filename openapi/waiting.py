"""Waiting: how a server that is still starting is waited for, by the suite and by a load test alike (`--wait S`)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

KNOCK_S: Final = 0.5
"""Seconds between two tries."""
DEADLINE_S: Final = 30.0
"""The most that one try may take."""
ABSENT: Final = frozenset((502, 503, 504))
"""The statuses of a proxy, or of the server itself, while the model is being loaded."""


class Waiting:
    """The time that is left for a server to come: it has come when it answers otherwise than with 502, 503 or 504."""

    def __init__(self, most_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_s = most_s
        self._clock = clock
        self._until_s = clock() + most_s

    @property
    def deadline_s(self) -> float:
        """Seconds that the next try may take."""
        return max(KNOCK_S, min(DEADLINE_S, self._until_s - self._clock()))

    @property
    def over(self) -> bool:
        """Whether no time is left for one more try."""
        return self._until_s - self._clock() < KNOCK_S

    def given_up(self, why: str) -> str:
        """The line that says so. `why`: what the last try came to."""
        return f"{why}; waited {self._most_s:g} s for it (--wait)"
