"""Count what a stream has received since the last count. Does no I/O.

A stream of minutes is counted while it runs, each gap in the second in which it ended. Otherwise live percentiles
would be those of short streams only, and a test that ends early would lose the long ones.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from math import inf
from operator import sub
from typing import TYPE_CHECKING, Final

from loadtests.measure.latency import MS, count_buckets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadtests.client.answer import Answer

SECOND: Final = 1_000_000_000


@dataclass(slots=True)
class NewReads:
    """The reads since the last count: TTFT if the first token is among them, gaps by second and bucket, events by
    second.

    Seconds count from the end of the warm-up. Reads before it are left out, and so is the TTFT of requests that were
    sent before it. second: that of the first token.
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


def take_new(answer: Answer, began_ns: int, until_ns: int | None = None) -> NewReads | None:
    """Return the reads of an answer since the last call, up to `until_ns` if given; None without new reads.

    A call for the end of a second is cheaper, as each second has its own sums.
    """
    stamps_ns, counts = answer.stamps_ns, answer.counts
    start, end = answer.reads_counted, len(counts)
    if until_ns is not None:
        end = bisect_left(stamps_ns, until_ns, start, end)
    if start == end:
        return None
    answer.reads_counted = end
    new = NewReads()
    if start == 0 and answer.sent_ns >= began_ns:
        new.second = (stamps_ns[0] - began_ns) // SECOND
        new.ttft_ms = (stamps_ns[0] - answer.sent_ns) / MS
        new.ttft_planned_ms = (stamps_ns[0] - answer.intended_ns) / MS
    first = bisect_left(stamps_ns, began_ns, start, end)
    while first < end:
        second = (stamps_ns[first] - began_ns) // SECOND
        last = bisect_left(stamps_ns, began_ns + (second + 1) * SECOND, first, end)
        _add_second(new, second, stamps_ns[max(0, first - 1) : last], counts[first:last])
        first = last
    answer.events_counted += sum(new.events.values())
    answer.longest_gap_ms = max(answer.longest_gap_ms, new.greatest_ms)
    return new


def _add_second(new: NewReads, second: int, stamps_ns: Sequence[int], counts: Sequence[int]) -> None:
    """Add the reads of one second, preceded by the last stamp before it; all at once, as one by one costs double."""
    gaps_ns = list(map(sub, stamps_ns[1:], stamps_ns))
    events, reads = sum(counts), len(counts)
    new.events[second] = events
    new.reads += reads
    new.count += len(gaps_ns)
    if gaps_ns:
        least_ns, greatest_ns = min(gaps_ns), max(gaps_ns)
        new.gaps_ms[second] = count_buckets(gaps_ns, least_ns, greatest_ns)
        new.total_ms += (stamps_ns[-1] - stamps_ns[0]) / MS
        new.least_ms = min(new.least_ms, least_ns / MS)
        new.greatest_ms = max(new.greatest_ms, greatest_ns / MS)
    if events > reads:
        new.coalesced_reads += sum(count > 1 for count in counts)
        gaps_ms = new.gaps_ms.setdefault(second, {})
        gaps_ms[0.0] = gaps_ms.get(0.0, 0) + events - reads
        new.count += events - reads
        new.least_ms = 0.0
