"""What a process uses: sockets, files, threads and memory, from /proc."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PAGE_BYTES: Final = 4096
MEBIBYTE: Final = 2**20
MOST_GROWTH_BYTES: Final = 64 * MEBIBYTE


@dataclass(frozen=True)
class Resources:
    """Counts of one moment. slots: requests, sequences and slots of the engine in use."""

    sockets: int
    files: int
    threads: int
    temporary_files: int
    rss: int
    slots: int = 0

    def leaked(self, before: Resources) -> dict[str, tuple[int, int]]:
        """Return each count that is higher than before, as (before, now). Memory is not counted."""
        names = ("sockets", "files", "threads", "temporary_files", "slots")
        pairs = {name: (getattr(before, name), getattr(self, name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[1] > pair[0]}

    def has_grown(self, before: Resources) -> bool:
        """Return whether the memory has grown by more than a row may leave behind."""
        return self.rss - before.rss > MOST_GROWTH_BYTES


def measure(pid: int, temporary: Path, slots: int = 0) -> Resources:
    """Return what a process uses. temporary: its folder of temporary files."""
    proc = Path("/proc") / str(pid)
    targets = []
    for link in (proc / "fd").iterdir():
        with suppress(OSError):
            targets.append(str(link.readlink()))
    sockets = sum(target.startswith("socket:") for target in targets)
    return Resources(
        sockets,
        len(targets) - sockets,
        len(list((proc / "task").iterdir())),
        sum(1 for _ in temporary.rglob("*")),
        int((proc / "statm").read_text().split()[1]) * PAGE_BYTES,
        slots,
    )


def peak_rss(pid: int) -> int:
    """Return the sum of the highest memory so far of a process and its running children; 0 if it has ended."""
    proc = Path("/proc") / str(pid)
    total = 0
    with suppress(OSError):
        for line in (proc / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                total += int(line.split()[1]) * 1024
        for task in (proc / "task").iterdir():
            total += sum(peak_rss(int(child)) for child in (task / "children").read_text().split())
    return total
