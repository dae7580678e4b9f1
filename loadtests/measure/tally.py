"""Count what a test adds up besides Locust's statistics; the counts of workers are merged by adding. Does no I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from loadtests.measure.latency import MS, answer_latencies, bucket
from loadtests.measure.live_progress import take_new

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from loadtests.client.answer import Answer
    from loadtests.measure.live_progress import NewReads

WORST: Final = 20
"""How many streams are kept for the chart of the worst streams, by TTFT and longest gap."""
MAX_MARKS: Final = 2000
"""The most arrival times that are kept of such a stream."""


@dataclass(slots=True)
class SecondCounts:
    """Counts of what ended in one second of the test. `ttft_ms` and `gap_ms` count by bucket."""

    answers: int = 0
    failures: int = 0
    good: int = 0
    tokens: int = 0
    sent: int = 0
    ttft_ms: Counter[float] = field(default_factory=Counter)
    gap_ms: Counter[float] = field(default_factory=Counter)


@dataclass(slots=True)
class Tally:
    """Counts of a test, or of a worker since its last report. Seconds count from the end of the warm-up."""

    requests: int = 0
    failures: int = 0
    good: int = 0
    tokens: int = 0
    tokens_unknown: int = 0
    events: int = 0
    reads: int = 0
    coalesced_reads: int = 0
    sampled: int = 0
    clock_steps: int = 0
    waited_reads: int = 0
    dropped: int = 0
    interrupted: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    details: dict[str, str] = field(default_factory=dict)
    findings: Counter[str] = field(default_factory=Counter)
    finding_details: dict[str, str] = field(default_factory=dict)
    seconds: defaultdict[int, SecondCounts] = field(default_factory=lambda: defaultdict(SecondCounts))
    worst: list[dict[str, Any]] = field(default_factory=list)

    def add(self, answer: Answer, began_ns: int, is_good: Callable[[Mapping[str, float | None]], bool]) -> None:
        """Count one answer that has ended. is_good: whether its own latencies meet the objectives.

        A request that was sent in the warm-up counts only in the second in which its answer ended: without it the first
        seconds would seem empty.
        """
        if (new := take_new(answer, began_ns)) is not None:
            self.add_new_reads(new)
        second = self.seconds[max(0, (answer.ended_ns - began_ns) // 1_000_000_000)]
        latencies = dict(answer_latencies(answer)) if answer.succeeded else {}
        tokens, content = answer.completion_tokens, sum(answer.counts)
        good = answer.succeeded and is_good(latencies)
        if answer.ended_ns >= began_ns:
            second.answers += 1
            second.failures += not answer.succeeded
            second.good += good
            if answer.succeeded and tokens is not None:  # its events are counted in their own seconds
                second.tokens += round((tokens - content) * answer.events_counted / content) if content else tokens
        if answer.sent_ns < began_ns:
            return
        self.requests += 1
        self.seconds[(answer.sent_ns - began_ns) // 1_000_000_000].sent += 1
        if answer.failure is not None:
            self.failures += 1
            self.kinds[answer.failure] += 1
            self.details.setdefault(answer.failure, answer.detail)
            return
        self.good += good
        self.tokens_unknown += tokens is None
        self.tokens += content if tokens is None else tokens
        self.events += content
        if "TTFT" in latencies:
            longest_ms = max(latencies["TTFT"], answer.longest_gap_ms)
            self._keep_worst(answer, began_ns, longest_ms, content - len(answer.counts))

    def add_new_reads(self, new: NewReads) -> None:
        """Count the new reads of a stream that has ended or not, even if it fails later."""
        if new.ttft_ms is not None:
            self.seconds[new.second].ttft_ms[bucket(new.ttft_ms)] += 1
        for at, gaps in new.gaps_ms.items():
            gap_ms = self.seconds[at].gap_ms
            for value_ms, count in gaps.items():  # Counter.update costs more for so few items
                gap_ms[value_ms] += count
        for at, events in new.events.items():
            self.seconds[at].tokens += events
        self.reads += new.reads
        self.coalesced_reads += new.coalesced_reads

    def _keep_worst(self, answer: Answer, began_ns: int, longest_ms: float, together: int) -> None:
        """Keep the stream if its longest wait is among the longest."""
        if len(self.worst) >= WORST and longest_ms <= self.worst[-1]["longest_ms"]:
            return
        offset_ns = answer.sent_ns
        marks = [round((at - offset_ns) / MS, 3) for at in answer.stamps_ns[:MAX_MARKS]]
        self.worst.append(
            {
                "sent_s": round((answer.sent_ns - began_ns) / 1e9, 3),
                "longest_ms": round(longest_ms, 3),
                "end_ms": round((answer.ended_ns - offset_ns) / MS, 3),
                "marks_ms": marks,
                "events_with_another": together,
            }
        )
        self.worst.sort(key=lambda stream: -stream["longest_ms"])
        del self.worst[WORST:]

    def take(self) -> dict[str, Any]:
        """Return the counts as plain data for a report to the master, and reset them."""
        taken = {
            "counts": {name: getattr(self, name) for name in COUNTS},
            "kinds": dict(self.kinds),
            "details": self.details,
            "findings": dict(self.findings),
            "finding_details": self.finding_details,
            "seconds": {
                at: {
                    "counts": {name: getattr(second, name) for name in PER_SECOND},
                    "ttft_ms": list(second.ttft_ms.items()),
                    "gap_ms": list(second.gap_ms.items()),
                }
                for at, second in self.seconds.items()
            },
            "worst": self.worst,
        }
        self.clear()
        return taken

    def clear(self) -> None:
        """Reset all counts."""
        empty = Tally()
        for name in self.__slots__:
            setattr(self, name, getattr(empty, name))

    def merge(self, taken: Mapping[str, Any]) -> None:
        """Add the counts of a worker, as `take` returned them."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + taken["counts"][name])
        self.kinds.update(taken["kinds"])
        self.findings.update(taken["findings"])
        for own, other in ((self.details, "details"), (self.finding_details, "finding_details")):
            for name, text in taken[other].items():
                own.setdefault(name, text)
        for at, other_second in taken["seconds"].items():
            second = self.seconds[int(at)]
            for name in PER_SECOND:
                setattr(second, name, getattr(second, name) + other_second["counts"][name])
            second.ttft_ms.update(dict(other_second["ttft_ms"]))
            second.gap_ms.update(dict(other_second["gap_ms"]))
        self.worst = sorted([*self.worst, *taken["worst"]], key=lambda stream: -stream["longest_ms"])[:WORST]


COUNTS: Final = (
    *("requests", "failures", "good", "tokens", "tokens_unknown", "events", "reads", "coalesced_reads", "sampled"),
    *("clock_steps", "waited_reads", "dropped", "interrupted"),
)
PER_SECOND: Final = ("answers", "failures", "good", "tokens", "sent")
