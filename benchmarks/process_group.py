"""The processes of a server: the one that was started, and those that it started. Linux only."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
GROUP, USER_TICKS, KERNEL_TICKS = 2, 11, 12
"""Places in /proc/PID/stat after the name of the program."""


class ProcessGroup:
    """The processes of the group that a process leads, or the process alone if it leads none.

    pid: of the process; started with a session of its own, it leads a group.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def suspend(self) -> None:
        """Stop the processes until `resume`."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the processes go on."""
        self._send(signal.SIGCONT)

    def end(self) -> None:
        """Ask the processes to end."""
        self._send(signal.SIGCONT)
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End the processes at once."""
        self._send(signal.SIGKILL)

    @property
    def cpu_s(self) -> float:
        """CPU time of the running processes, in user and kernel mode."""
        return sum(int(fields[USER_TICKS]) + int(fields[KERNEL_TICKS]) for _, fields in self._members()) / TICKS_PER_S

    @property
    def rss_bytes(self) -> int:
        """Resident memory; pages that several processes share count for each."""
        return sum(_read_kib(pid, "VmRSS:") for pid, _ in self._members()) * 1024

    @property
    def peak_bytes(self) -> int:
        """The sum of the greatest resident memory of each process."""
        return sum(_read_kib(pid, "VmHWM:") for pid, _ in self._members()) * 1024

    def _members(self) -> Iterator[tuple[int, list[str]]]:
        for place in Path("/proc").glob("[0-9]*"):
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if self._pid in (int(place.name), int(fields[GROUP])):
                yield int(place.name), fields

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it has ended
            os.killpg(self._pid, number)


def _read_kib(pid: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(name))
