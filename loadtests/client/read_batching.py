"""Decide how long reads may wait so that one turn of the event loop serves many of them. Does no I/O.

Bytes carry the kernel's receive time, so reading them some milliseconds later gives the same times, as long as a read
brings one event: the kernel keeps the time of the last byte only. While more than 1,000 reads a second come, a timer
serves them every 16, 12, 8, 4 or 2 ms. A pause is allowed only while fewer than 1 in 500 of the gaps between a
stream's events are so short that two events could come in one read even if the turn was late, and only while answers
last at least a hundred pauses: a user of a closed loop sees the end of an answer up to a pause later, and sends the
next request that much later.

Bursts that begin under load can share reads until they are noticed, for a second at most.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import sub
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PAUSES_NS: Final = (16_000_000, 12_000_000, 8_000_000, 4_000_000, 2_000_000)
"""How long a read may wait, the longest first. The event loop counts in milliseconds, so it may be 1 ms more."""
LATE_NS: Final = 6_000_000
"""How late a turn may be without merging events that are farther apart than this plus the pause."""
CLOSE_NS: Final = tuple(pause_ns + min(pause_ns, LATE_NS) for pause_ns in PAUSES_NS)
"""For each pause: events of one stream that are closer than this might come in one read."""
MAX_CLOSE_SHARE: Final = 0.002
"""The share of gaps that may be that short: a fifth of the share that makes a measurement doubtful."""
MIN_GAPS: Final = 100
"""The number of gaps that are collected for a decision."""
MIN_READS_PER_S: Final = 1000
"""With fewer reads a second each is served at once, as there is nothing to gain."""
QUIET_NS: Final = 1_000_000_000
"""How long there must be fewer reads than that before reads are served at once again. Where many answers end together,
almost nothing comes for a moment, and without this limit each read of the next answers would get its own turn."""
PAUSES_PER_ANSWER: Final = 100
"""How many pauses an answer must last. Its end is seen half a pause later on average, so that a user of a closed loop
sends half a per cent fewer requests at most."""
MEMORY_NS: Final = 5_000_000_000
"""The time over which the number of streams and of ended answers is averaged, to estimate how long answers last. In a
shorter time too many answers end when they end together, as those of users who started together do."""
WINDOW_NS: Final = 100_000_000


class ReadBatching:
    """Collects observations of reads and answers, and chooses `pause_ns` ten times a second.

    pause_ns: how long a read may wait; 0 if reads are served at once.
    """

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

    def record_gaps(self, stamps_ns: Sequence[int], coalesced: int) -> None:
        """Record the times of one stream's reads with content; `coalesced` of these reads had several events."""
        if len(stamps_ns) > 1:
            least_ns = min(map(sub, stamps_ns[1:], stamps_ns))
            self._gaps += len(stamps_ns) - 1
            if coalesced or least_ns < CLOSE_NS[0]:
                gaps_ns = sorted(map(sub, stamps_ns[1:], stamps_ns))
                for index, close_ns in enumerate(CLOSE_NS):
                    self._close[index] += coalesced + bisect_left(gaps_ns, close_ns)
        if self._gaps >= MIN_GAPS:
            limit = MAX_CLOSE_SHARE * self._gaps
            sparse = (pause_ns for pause_ns, close in zip(PAUSES_NS, self._close, strict=True) if close <= limit)
            self._sparse_ns = next(sparse, 0)
            self.pause_ns = min(self.pause_ns, self._sparse_ns)
            self._gaps, self._close = 0, [0] * len(PAUSES_NS)

    def record_end(self) -> None:
        """Record that an answer has ended."""
        self._ends += 1

    def record_turn(self, reads: int, streams: int, now_ns: int) -> None:
        """Record one turn of the event loop: its reads, and how many answers are in flight."""
        self._reads += reads
        passed_ns = now_ns - self._since_ns
        if passed_ns >= WINDOW_NS:
            if self._reads * 1_000_000_000 >= MIN_READS_PER_S * passed_ns:
                self._busy_ns = now_ns
            past_ns = min(passed_ns, MEMORY_NS)
            kept = 1 - past_ns / MEMORY_NS
            self._streams_ns = kept * self._streams_ns + streams * past_ns
            self._ended = kept * self._ended + self._ends
            busy = now_ns - self._busy_ns < QUIET_NS
            mean_answer_ns = self._streams_ns / self._ended if self._ended else None
            self.pause_ns = choose_pause_ns(self._sparse_ns, mean_answer_ns) if busy else 0
            self._since_ns, self._reads, self._ends = now_ns, 0, 0


def choose_pause_ns(sparse_ns: int, mean_answer_ns: float | None) -> int:
    """Return the longest pause that neither merges events nor delays the end of answers noticeably.

    sparse_ns: the longest pause that the gaps between events allow. mean_answer_ns: how long answers last; None if none
    has ended.
    """
    longest_ns = sparse_ns if mean_answer_ns is None else min(sparse_ns, mean_answer_ns / PAUSES_PER_ANSWER)
    return next((pause_ns for pause_ns in PAUSES_NS if pause_ns <= longest_ns), 0)
