"""The pace: whether reads may wait for one another, so that one turn of the loop serves many of them. Pure.

Bytes carry the kernel's time, so a read that comes a millisecond later tells the same; but only while it brings one
event, as the kernel keeps the time of the last byte. And an answer's end that is seen later lets its user send later.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import sub
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PAUSES_NS: Final = (16_000_000, 12_000_000, 8_000_000, 4_000_000, 2_000_000)
"""How long a read may wait for others, the longest first. The loop counts in milliseconds, so it may be 1 ms more."""
LATE_NS: Final = 6_000_000
"""How late a turn may be before events come in one read that are farther apart than this and the pause together."""
CLOSE_NS: Final = tuple(pause_ns + min(pause_ns, LATE_NS) for pause_ns in PAUSES_NS)
"""For each pause: events of one stream that are closer than this might have come in one read."""
CLOSE_SHARE: Final = 0.002
"""The share of gaps that may be so close: a fifth of what makes a measurement doubtful."""
ENOUGH: Final = 100
"""Gaps that are looked at before a verdict on them."""
RATE: Final = 1000
"""Reads a second below which each has its own turn: there is nothing to gain."""
QUIET_NS: Final = 1_000_000_000
"""For how long there must be fewer. Where many answers end together, nearly nothing comes for a moment, and as their
next ones begin each read would have its own turn."""
PAUSES_PER_ANSWER: Final = 100
"""How many pauses an answer must last: its end is seen half a pause later on average, so that a user of a closed loop
sends half a per cent less at most."""
MEMORY_NS: Final = 5_000_000_000
"""For about how long it is remembered how many streams there were and how many answers ended, which tells how long
answers last. In a shorter time too many end whenever they end together, as those of users who began together do."""
WINDOW_NS: Final = 100_000_000


class Pace:
    """Decides ten times a second by what was seen; `pause_ns` is the verdict, 0 where each read has its own turn."""

    __slots__ = (
        "_busy_ns",
        "_close",
        "_ended",
        "_ends",
        "_gaps",
        "_reads",
        "_since_ns",
        "_sparse_ns",
        "_streams_ns",
        "pause_ns",
    )

    def __init__(self) -> None:
        self.pause_ns = 0
        self._since_ns = 0
        self._busy_ns = -QUIET_NS
        self._reads = 0
        self._ends = 0
        self._ended = 0.0
        self._streams_ns = 0.0
        self._gaps = 0
        self._close = [0] * len(PAUSES_NS)
        self._sparse_ns = 0

    def saw(self, stamps_ns: Sequence[int], coalesced: int) -> None:
        """Looks at the times of one stream's reads with content; `coalesced` of them brought several events."""
        if len(stamps_ns) > 1:
            least_ns = min(map(sub, stamps_ns[1:], stamps_ns))
            self._gaps += len(stamps_ns) - 1
            if coalesced or least_ns < CLOSE_NS[0]:
                gaps_ns = sorted(map(sub, stamps_ns[1:], stamps_ns))
                for at, close_ns in enumerate(CLOSE_NS):
                    self._close[at] += coalesced + bisect_left(gaps_ns, close_ns)
        if self._gaps >= ENOUGH:
            most = CLOSE_SHARE * self._gaps
            sparse = (pause_ns for pause_ns, close in zip(PAUSES_NS, self._close, strict=True) if close <= most)
            self._sparse_ns = next(sparse, 0)
            self.pause_ns = min(self.pause_ns, self._sparse_ns)
            self._gaps, self._close = 0, [0] * len(PAUSES_NS)

    def ended(self) -> None:
        """An answer has ended."""
        self._ends += 1

    def turned(self, reads: int, streams: int, now_ns: int) -> None:
        """One turn of the loop had so many reads; so many answers are on their way."""
        self._reads += reads
        passed_ns = now_ns - self._since_ns
        if passed_ns >= WINDOW_NS:
            if self._reads * 1_000_000_000 >= RATE * passed_ns:
                self._busy_ns = now_ns
            past_ns = min(passed_ns, MEMORY_NS)
            kept = 1 - past_ns / MEMORY_NS
            self._streams_ns = kept * self._streams_ns + streams * past_ns
            self._ended = kept * self._ended + self._ends
            self.pause_ns = self._longest_ns() if now_ns - self._busy_ns < QUIET_NS else 0
            self._since_ns, self._reads, self._ends = now_ns, 0, 0

    def _longest_ns(self) -> int:
        """The longest pause that neither brings events together nor answers' ends noticeably later."""
        longest_ns = float(self._sparse_ns)
        if self._ended:
            longest_ns = min(longest_ns, self._streams_ns / self._ended / PAUSES_PER_ANSWER)
        return next((each for each in PAUSES_NS if each <= longest_ns), 0)
