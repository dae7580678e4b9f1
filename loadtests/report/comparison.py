"""Two load tests side by side: what changed, and whether the difference is more than chance. Pure.

Percentiles carry the interval of their order statistics (95 %), shares Wilson's, rates that of their seconds. Two
figures differ clearly when their intervals do not touch; requests that share a server's moment are not independent,
so a difference that is not clear is not shown to be none.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loadtests.cli.rate_search import CONFIDENCE
from loadtests.report.results import quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from loadtests.report.results import Buckets

ROWS: Final = ("TTFT", "ITL", "TPOT", "E2E", "TTFT planned", "E2E planned")
SHARES: Final = (0.5, 0.95, 0.99)
RATES: Final[Mapping[str, Callable[[dict[str, int]], int]]] = {
    "answers/s": lambda second: second["answers"] - second["failures"],  # as the report counts them
    "tokens/s": lambda second: second["tokens"],
    "goodput/s": lambda second: second["good"],
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and the ends of its interval."""

    value: float
    least: float
    greatest: float


@dataclass(frozen=True, slots=True)
class Difference:
    """One line of a comparison. `lower_is_better` tells which way is good."""

    name: str
    before: Figure
    after: Figure
    lower_is_better: bool

    @property
    def ratio(self) -> float | None:
        """After by before."""
        return self.after.value / self.before.value if self.before.value else None

    @property
    def verdict(self) -> str:
        """better, worse, or unclear."""
        if self.before.least <= self.after.greatest and self.after.least <= self.before.greatest:
            return "unclear"
        return "better" if (self.after.value < self.before.value) == self.lower_is_better else "worse"


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """Every figure that both tests have."""
    for row in ROWS:
        if row in before["latencies_ms"] and row in after["latencies_ms"]:
            for share in SHARES:
                figures = [
                    _quantile([tuple(pair) for pair in each["latencies_ms"][row]["buckets"]], share)
                    for each in (before, after)
                ]
                yield Difference(f"{row} p{share * 100:g} ms", figures[0], figures[1], lower_is_better=True)
    for name, count in RATES.items():
        figures = [_rate([count(second) for second in each["seconds"][:-1]]) for each in (before, after)]
        yield Difference(name, figures[0], figures[1], lower_is_better=False)
    figures = [_share(each["counts"]["failures"], each["counts"]["requests"]) for each in (before, after)]
    yield Difference("failed share", figures[0], figures[1], lower_is_better=True)


def _quantile(buckets: Buckets, share: float) -> Figure:
    """A percentile with the order statistics between which it lies."""
    total = sum(count for _, count in buckets)
    spread = CONFIDENCE * math.sqrt(share * (1 - share) / total)
    ends = [quantile(buckets, min(1.0, max(0.0, share + sign * spread))) for sign in (0, -1, 1)]
    value, least, greatest = (0.0 if end is None else end for end in ends)
    return Figure(value, least, greatest)


def _rate(per_second: list[int]) -> Figure:
    if len(per_second) < 2:
        return Figure(float(sum(per_second)), 0.0, math.inf)
    mean = statistics.mean(per_second)
    spread = CONFIDENCE * statistics.stdev(per_second) / math.sqrt(len(per_second))
    return Figure(mean, mean - spread, mean + spread)


def _share(count: int, total: int) -> Figure:
    if not total:
        return Figure(0.0, 0.0, 1.0)
    share, z2 = count / total, CONFIDENCE**2
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    spread = CONFIDENCE * math.sqrt(share * (1 - share) / total + z2 / (4 * total**2)) / (1 + z2 / total)
    return Figure(share, max(0.0, middle - spread), min(1.0, middle + spread))
