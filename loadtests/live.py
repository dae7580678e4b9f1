"""Live: what has come of a stream since it was last looked at. Pure.

A stream of minutes is counted while it runs, each gap in the second in which it ended; else live percentiles would be
those of short streams, and an early end of the test would lose the long ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from loadtests.latency import MS, bucket

if TYPE_CHECKING:
    from loadtests.answer import Answer

SECOND: Final = 1_000_000_000


@dataclass(slots=True)
class Fresh:
    """New since the last look: the first token's latencies if it has come, gaps by second and bucket, events by second.

    Seconds count from the end of the warm-up; what came before is left out, and so is the TTFT of what was sent before.
    """

    second: int = 0
    ttft_ms: float | None = None
    ttft_planned_ms: float | None = None
    gaps_ms: dict[int, Counter[float]] = field(default_factory=lambda: defaultdict(Counter))
    events: Counter[int] = field(default_factory=Counter)
    reads: int = 0
    coalesced_reads: int = 0
    count: int = 0
    total_ms: float = 0.0
    least_ms: float = 0.0
    greatest_ms: float = 0.0


def fresh(answer: Answer, began_ns: int) -> Fresh | None:
    """What is new of an answer, which is marked as looked at; None where there is nothing."""
    stamps_ns, counts = answer.stamps_ns, answer.counts
    start, end = answer.looked_at, len(counts)
    if start == end:
        return None
    answer.looked_at = end
    made = Fresh()
    if start == 0 and answer.sent_ns >= began_ns:
        made.second = (stamps_ns[0] - began_ns) // SECOND
        made.ttft_ms = (stamps_ns[0] - answer.sent_ns) / MS
        made.ttft_planned_ms = (stamps_ns[0] - answer.intended_ns) / MS
    made.least_ms = float("inf")
    for at in range(start, end):
        at_ns, events = stamps_ns[at], counts[at]
        if at_ns < began_ns:
            continue
        second = (at_ns - began_ns) // SECOND
        made.reads += 1
        made.events[second] += events
        if at:
            gap_ms = (at_ns - stamps_ns[at - 1]) / MS
            made.gaps_ms[second][bucket(gap_ms)] += 1
            made.count += 1
            made.total_ms += gap_ms
            if gap_ms < made.least_ms:
                made.least_ms = gap_ms
            if gap_ms > made.greatest_ms:
                made.greatest_ms = gap_ms
        if events > 1:
            made.coalesced_reads += 1
            made.gaps_ms[second][0.0] += events - 1
            made.count += events - 1
            made.least_ms = 0.0
    answer.events_counted += sum(made.events.values())
    return made
