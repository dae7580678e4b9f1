"""End judging at a deadline or at an interrupt, even while a check computes.

A check that is computing sees neither the clock nor a flag, so the limit raises an exception in it: from a signal
handler, which Python runs between two steps of the main thread. A timer causes a signal of its own at the deadline, so
that it also works in a background job, which ignores interrupts. Outside the main thread, judging ends after the check
that is running.
"""

from __future__ import annotations

import _thread
import math
import signal
import threading
import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

INTERRUPTED: Final = "interrupted"
ALARM: Final[signal.Signals] = getattr(signal, "SIGURG", signal.SIGABRT)
"""The signal of the timer, which other programs do not send. SIGURG is ignored by default; Windows does not have it."""
LEAST_S: Final = 2.0
"""Judging has at least this time, so that a run that used up its own has results."""
LONGEST_WAIT_S: Final = 86400.0
"""Timers are not started for longer; their threads cannot wait for ever."""


class JudgingStopped(BaseException):  # not an Exception: checks and our own code must not handle it
    """Raised in whatever is judging when the limit is reached."""


class JudgingLimit:
    """The time limit of judging.

    until_s: when judging ends, on the monotonic clock. time_limit: the limit as the user wrote it.
    reason: why judging ended early; None while it has not.
    """

    def __init__(self, until_s: float = math.inf, time_limit: str = "") -> None:
        self.reason: str | None = None
        self._time_limit = time_limit
        self._until_s = max(until_s, time.monotonic() + LEAST_S)
        self._is_running = False
        self._handlers: dict[signal.Signals, Any] = {}
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        """Handle interrupts, and start the timer."""
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                self._handlers[number] = signal.signal(number, self._interrupt)
        left_s = self._until_s - time.monotonic()
        if left_s < LONGEST_WAIT_S:
            self._handlers[ALARM] = signal.signal(ALARM, self._expire) or signal.SIG_DFL  # None: not set by Python
            self._timer = threading.Timer(left_s, _thread.interrupt_main, [ALARM])
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the timer, and handle signals as before."""
        if self._timer is not None:
            self._timer.cancel()
        for number, previous in self._handlers.items():
            signal.signal(number, previous)

    def run(self, work: Callable[[], object]) -> None:
        """Call a function, and return when it has finished or the limit is reached."""
        try:
            try:
                self._is_running = True
                self.check()
                work()
            finally:
                self._is_running = False
        except JudgingStopped:
            return

    def check(self) -> None:
        """Raise JudgingStopped if the limit is reached."""
        if self.reason is None and time.monotonic() >= self._until_s:
            self.reason = self._time_limit
        if self.reason is not None:
            raise JudgingStopped

    def _expire(self, _number: int, _frame: FrameType | None) -> None:
        """Handle the signal of the timer. Judging may have seen the time itself."""
        if self.reason is None and time.monotonic() >= self._until_s:
            self._stop(self._time_limit)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal of the user; the second one ends the command without reports."""
        if self.reason is not None:
            raise KeyboardInterrupt
        self._stop(INTERRUPTED)

    def _stop(self, reason: str) -> None:
        self.reason = reason
        if self._is_running:
            raise JudgingStopped
