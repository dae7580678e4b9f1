"""One replica of an engine: a thread that starts its process, and starts it again when it ends or hangs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_server.child_engine.child import Child, is_healthy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MOST_FAILURES: Final = 5
"""Ends in a row, each before it had served for `WatchTimes.settled`, after which a replica is given up."""
LONGEST_PAUSE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """How a replica is watched, in seconds.

    start: until it must be ready. every: between two looks. hang: without an answer, until it counts as hanging.
    grace: for its end after SIGTERM. settled: of service, after which earlier failures are forgotten.
    pause: before the first new start; it doubles after each failure in a row.
    """

    start: float = 1800.0
    every: float = 1.0
    hang: float = 60.0
    grace: float = 30.0
    settled: float = 60.0
    pause: float = 1.0


@dataclass(frozen=True, slots=True)
class Launch:
    """What one replica runs: its command, its environment, its port, its key, and the path that tells its health."""

    label: str
    command: Sequence[str]
    variables: Mapping[str, str]
    port: int
    key: str
    health: str


class Replica(threading.Thread):
    """Runs an engine until it is stopped or given up.

    The first start is not tried again: what keeps it from starting is told to the operator at once.

    log: called with one line about each event, and with each line of the process.
    on_end: called from this thread when a replica that has served never will again.
    """

    def __init__(
        self, launch: Launch, times: WatchTimes, log: Callable[[str], None], on_end: Callable[[Replica], None]
    ) -> None:
        super().__init__(name=launch.label, daemon=True)
        self.launch = launch
        self.failure: str | None = None
        self.settled = threading.Event()  # ready for the first time, or ended for good
        self._times = times
        self._log = log
        self._on_end = on_end
        self._stopping = threading.Event()

    def run(self) -> None:
        failures, is_first = 0, True
        while not self._stopping.is_set():
            served_s, reason = self._run_once()
            if self._stopping.is_set():
                break
            failures = 1 if served_s >= self._times.settled else failures + 1
            if (is_first and not served_s) or failures >= MOST_FAILURES:
                times = "" if is_first else f"{failures} times in a row; the last time it "
                self.failure = f"{self.launch.label} {times}{reason}"
                break
            is_first = False
            pause_s = min(LONGEST_PAUSE_S, self._times.pause * 2 ** (failures - 1))
            self._log(f"{self.launch.label} {reason}; it starts again in {pause_s:g} s")
            self._stopping.wait(pause_s)
        self.settled.set()
        if self.failure is not None and not is_first:
            self._on_end(self)

    def stop(self) -> None:
        """Ask the process to end; `join` waits for it."""
        self._stopping.set()

    def _run_once(self) -> tuple[float, str]:
        """Run the process until it ends, hangs or is stopped; return how long it served, and what happened."""
        launch, times = self.launch, self._times
        child = Child(
            launch.command,
            launch.variables,
            prefix=launch.label,
            write=self._log,
            hidden=launch.key,
            skipped=f'"GET {launch.health} ',
        )
        try:
            reason = self._wait_until_ready(child)
            if reason is not None:
                return 0.0, reason
            ready_s = time.monotonic()
            self.settled.set()
            reason = self._watch(child)
            return time.monotonic() - ready_s, reason
        finally:
            child.stop(times.grace)

    def _wait_until_ready(self, child: Child) -> str | None:
        """Return None when the engine is ready, otherwise why it will not be."""
        until_s = time.monotonic() + self._times.start
        while not self._stopping.is_set():
            if child.returncode is not None:
                return child.explain()
            if self._is_healthy():
                return None
            if time.monotonic() > until_s:
                return f"was not ready after {self._times.start:g} s"
            self._stopping.wait(min(self._times.every, 0.5))
        return "was stopped"

    def _watch(self, child: Child) -> str:
        """Return why a ready engine serves no more."""
        answered_s = time.monotonic()
        while not self._stopping.wait(self._times.every):
            if child.returncode is not None:
                return child.explain()
            if self._is_healthy():
                answered_s = time.monotonic()
            elif time.monotonic() - answered_s > self._times.hang:
                return f"did not answer {self.launch.health} for {self._times.hang:g} s"
        return "was stopped"

    def _is_healthy(self) -> bool:
        launch = self.launch
        return is_healthy(launch.port, launch.health, launch.key, max(1.0, self._times.hang / 4))
