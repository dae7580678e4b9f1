"""Live: what has come of a stream since it was last looked at. Pure.

A stream of minutes is counted while it runs, each gap in the second in which it ended; else live percentiles would be
those of short streams, and an early end of the test would lose the long ones.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from math import inf
from operator import sub
from typing import TYPE_CHECKING, Final

from loadtests.measure.latency import MS, buckets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadtests.client.answer import Answer

SECOND: Final = 1_000_000_000


@dataclass(slots=True)
class Fresh:
    """New since the last look: the first token's latencies if it has come, gaps by second and bucket, events by second.

    Seconds count from the end of the warm-up; what came before is left out, and so is the TTFT of what was sent before.
    """

    second: int = 0
    ttft_ms: float | None = None
    ttft_planned_ms: float | None = None
    gaps_ms: dict[int, dict[float, int]] = field(default_factory=dict)
    events: dict[int, int] = field(default_factory=dict)
    reads: int = 0
    coalesced_reads: int = 0
    count: int = 0
    total_ms: float = 0.0
    least_ms: float = inf
    greatest_ms: float = 0.0


def fresh(answer: Answer, began_ns: int, until_ns: int | None = None) -> Fresh | None:
    """What is new of an answer, of what came before `until_ns` if given, which is marked as looked at; None where there
    is nothing. A look that ends with a second is cheaper, as each second has sums of its own."""
    stamps_ns, counts = answer.stamps_ns, answer.counts
    start, end = answer.looked_at, len(counts)
    if until_ns is not None:
        end = bisect_left(stamps_ns, until_ns, start, end)
    if start == end:
        return None
    answer.looked_at = end
    made = Fresh()
    if start == 0 and answer.sent_ns >= began_ns:
        made.second = (stamps_ns[0] - began_ns) // SECOND
        made.ttft_ms = (stamps_ns[0] - answer.sent_ns) / MS
        made.ttft_planned_ms = (stamps_ns[0] - answer.intended_ns) / MS
    first = bisect_left(stamps_ns, began_ns, start, end)
    while first < end:
        second = (stamps_ns[first] - began_ns) // SECOND
        last = bisect_left(stamps_ns, began_ns + (second + 1) * SECOND, first, end)
        _add(made, second, stamps_ns[max(0, first - 1) : last], counts[first:last])
        first = last
    answer.events_counted += sum(made.events.values())
    answer.longest_gap_ms = max(answer.longest_gap_ms, made.greatest_ms)
    return made


def _add(made: Fresh, second: int, stamps_ns: Sequence[int], counts: Sequence[int]) -> None:
    """The reads of one second, with the stamp before them if there is one; all at once, as one by one costs double."""
    gaps_ns = list(map(sub, stamps_ns[1:], stamps_ns))
    events, reads = sum(counts), len(counts)
    made.events[second] = events
    made.reads += reads
    made.count += len(gaps_ns)
    if gaps_ns:
        least_ns, greatest_ns = min(gaps_ns), max(gaps_ns)
        made.gaps_ms[second] = buckets(gaps_ns, least_ns, greatest_ns)
        made.total_ms += (stamps_ns[-1] - stamps_ns[0]) / MS
        made.least_ms = min(made.least_ms, least_ns / MS)
        made.greatest_ms = max(made.greatest_ms, greatest_ns / MS)
    if events > reads:
        made.coalesced_reads += sum(count > 1 for count in counts)
        gaps_ms = made.gaps_ms.setdefault(second, {})
        gaps_ms[0.0] = gaps_ms.get(0.0, 0) + events - reads
        made.count += events - reads
        made.least_ms = 0.0
