"""Show the progress of a run in the terminal: what is done, what failed so far, and how long the rest takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from conformance.report.writers.evidence import neutralize

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.check import Finding
    from conformance.record import Record

BAR_WIDTH: Final = 24
LEAST_DONE: Final = 5
"""The number of answers from which the time that is left is estimated."""
LONGEST_VALUE: Final = 160


@dataclass(frozen=True, slots=True)
class LiveFailure:
    """The first finding of a requirement that fails while the run is going on, and its exchange."""

    requirement: str
    keyword: str
    exchange: str
    finding: Finding


class ProgressBar:
    """A progress bar of fixed width. Failures are printed above it.

    expected: the number of requests that the run usually sends; it grows if the run sends more. The bar prints nothing
    if the output is not a terminal, but failures are printed there, too.
    """

    def __init__(self, console: Console, expected: int) -> None:
        self._console = console
        self._expected = max(1, expected)
        self._done: dict[int, int] = {}  # by record
        self._failed = 0
        self._began_s = time.monotonic()
        self._bar = Progress(
            BarColumn(bar_width=BAR_WIDTH),
            TextColumn("{task.fields[line]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=self._expected, line=self.line(0))

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, record: Record) -> None:
        """Show how many requests of all records are answered."""
        self._done[id(record)] = len(record.exchanges)
        self._show()

    def show_failure(self, failure: LiveFailure) -> None:
        """Print one line for a requirement that fails, and count it."""
        self._failed += 1
        finding = failure.finding
        values = f"expected {finding.expected}, got {finding.got}"
        line = Text.assemble(("FAIL", "bold red"), f" {failure.keyword} ", (_plain(failure.requirement), "bold"))
        line.append(f" {_plain(failure.exchange)}: {_plain(values)}", "dim")
        self._bar.console.print(line, soft_wrap=not self._console.is_terminal, no_wrap=True, overflow="ellipsis")
        self._show()

    def line(self, done: int) -> str:
        """Return the numbers next to the bar, which keep their places while they grow."""
        width = len(str(self._expected))
        left = f"{'finishing':>10}" if done >= self._expected else f"{format_left(self._left_s(done)):>5} left"
        return f"{done:>{width}}/{self._expected} {self._failed:>3} failed  {left}"

    def _show(self) -> None:
        done = sum(self._done.values())
        self._expected = max(self._expected, done)
        self._bar.update(self._task, completed=done, total=self._expected, line=self.line(done))

    def _left_s(self, done: int) -> float | None:
        if done < LEAST_DONE:
            return None
        return (time.monotonic() - self._began_s) * (self._expected - done) / done


def format_left(seconds: float | None) -> str:
    """Return minutes and seconds, or dashes if the time is unknown."""
    return "-:--" if seconds is None else f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _plain(text: str) -> str:
    return neutralize(text.replace("\n", " "), LONGEST_VALUE)
