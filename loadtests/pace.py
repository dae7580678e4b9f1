"""The pace: whether reads may wait for one another, so that one turn of the loop serves many of them. Pure.

Bytes carry the kernel's time, so a read that comes a millisecond later tells the same; but only while it brings one
event, as the kernel keeps the time of the last byte. And an answer's end that is seen later lets its user send later.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PAUSE_NS: Final = 2_000_000
"""What a read may wait for others; the loop counts in milliseconds, so that it may be three."""
CLOSE_NS: Final = 2 * PAUSE_NS
"""Events of one stream that are closer than this might have come in one read."""
CLOSE_SHARE: Final = 0.002
"""Of gaps, how many may be as close: a fifth of what makes a measurement doubtful."""
ENOUGH: Final = 100
"""Gaps that are looked at before a verdict on them."""
RATE: Final = 1000
"""Reads a second below which each has its own turn: there is nothing to gain."""
READS_PER_END: Final = 20
"""Reads for one answer's end below which nobody waits: users would send noticeably later."""
WINDOW_NS: Final = 200_000_000


class Pace:
    """Decides five times a second by what was seen; `together` is the verdict."""

    __slots__ = ("_close", "_ends", "_gaps", "_reads", "_since_ns", "_sparse", "together")

    def __init__(self) -> None:
        self.together = False
        self._since_ns = 0
        self._reads = 0
        self._ends = 0
        self._gaps = 0
        self._close = 0
        self._sparse = False

    def saw(self, stamps_ns: Sequence[int], coalesced: int) -> None:
        """Looks at the times of one stream's reads with content; `coalesced` of them brought several events."""
        gaps = [later - earlier for earlier, later in pairwise(stamps_ns)]
        if coalesced or (gaps and min(gaps) < CLOSE_NS):
            self._close += coalesced + sum(gap < CLOSE_NS for gap in gaps)
        self._gaps += len(gaps)
        if self._gaps >= ENOUGH:
            self._sparse = self._close <= CLOSE_SHARE * self._gaps
            self.together = self.together and self._sparse
            self._gaps = self._close = 0

    def ended(self) -> None:
        """An answer has ended."""
        self._ends += 1

    def turned(self, reads: int, now_ns: int) -> None:
        """One turn of the loop had so many reads."""
        self._reads += reads
        passed_ns = now_ns - self._since_ns
        if passed_ns >= WINDOW_NS:
            many = self._reads * 1_000_000_000 >= RATE * passed_ns and self._reads >= READS_PER_END * self._ends
            self.together = many and self._sparse
            self._since_ns, self._reads, self._ends = now_ns, 0, 0
