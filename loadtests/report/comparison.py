"""Compare two load tests: what changed, and whether the difference is statistically clear. Does no I/O.

Percentiles have the 95 % interval of their order statistics, shares Wilson's interval, rates the interval of the mean
over their seconds. Two values differ clearly if their intervals do not overlap. Requests that a server handled at the
same time are not independent, so an unclear difference does not prove equality.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loadtests.measure.confidence import CONFIDENCE, wilson_interval
from loadtests.report.results import quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from loadtests.report.measurement import Buckets

ROWS: Final = ("TTFT", "ITL", "TPOT", "E2E", "TTFT planned", "E2E planned")
SHARES: Final = (0.5, 0.95, 0.99)
RATES: Final[Mapping[str, Callable[[dict[str, int]], int]]] = {
    "answers/s": lambda second: second["answers"] - second["failures"],  # as the report counts them
    "tokens/s": lambda second: second["tokens"],
    "goodput/s": lambda second: second["good"],
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and the ends of its 95 % interval."""

    value: float
    least: float
    greatest: float


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One line of a comparison."""

    name: str
    before: Estimate
    after: Estimate
    lower_is_better: bool

    @property
    def ratio(self) -> float | None:
        """The value after divided by the value before; None if that is 0."""
        return self.after.value / self.before.value if self.before.value else None

    @property
    def verdict(self) -> str:
        """One of better, worse and unclear."""
        if self.before.least <= self.after.greatest and self.after.least <= self.before.greatest:
            return "unclear"
        return "better" if (self.after.value < self.before.value) == self.lower_is_better else "worse"


def compare_results(before: dict[str, Any], after: dict[str, Any]) -> Iterator[MetricChange]:
    """Yield the change of each value that both tests have."""
    both = (before, after)
    for row in ROWS:
        if row in before["latencies_ms"] and row in after["latencies_ms"]:
            buckets = [[tuple(pair) for pair in results["latencies_ms"][row]["buckets"]] for results in both]
            for share in SHARES:
                one, other = (_estimate_quantile(pairs, share) for pairs in buckets)
                yield MetricChange(f"{row} p{share * 100:g} ms", one, other, lower_is_better=True)
    for name, count in RATES.items():
        one, other = (_estimate_rate([count(second) for second in results["seconds"][:-1]]) for results in both)
        yield MetricChange(name, one, other, lower_is_better=False)
    counts = [results["counts"] for results in both]
    one, other = (_estimate_share(count["failures"], count["requests"]) for count in counts)
    yield MetricChange("failed share", one, other, lower_is_better=True)


def _estimate_quantile(buckets: Buckets, share: float) -> Estimate:
    """Return a percentile with the order statistics that enclose it."""
    total = sum(count for _, count in buckets)
    spread = CONFIDENCE * math.sqrt(share * (1 - share) / total)
    ends = [quantile(buckets, min(1.0, max(0.0, share + sign * spread))) for sign in (0, -1, 1)]
    value, least, greatest = (0.0 if end is None else end for end in ends)
    return Estimate(value, least, greatest)


def _estimate_rate(per_second: list[int]) -> Estimate:
    if len(per_second) < 2:
        return Estimate(float(sum(per_second)), 0.0, math.inf)
    mean = statistics.mean(per_second)
    spread = CONFIDENCE * statistics.stdev(per_second) / math.sqrt(len(per_second))
    return Estimate(mean, mean - spread, mean + spread)


def _estimate_share(count: int, total: int) -> Estimate:
    return Estimate(count / total if total else 0.0, *wilson_interval(count, total))
