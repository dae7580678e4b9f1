"""Search for the highest rate at which the objectives are met: double it until they are not, then bisect.

Does no I/O.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from loadtests.measure.confidence import wilson_interval

FACTOR: Final = 2.0


@dataclass(frozen=True, slots=True)
class RateStep:
    """One rate that was tried.

    requests: how many were answered or failed. good: how many answers met every objective by themselves. saturated: the
    answers fell further and further behind. aborted: the test was aborted because of its failures.
    """

    rate_per_s: float
    requests: int
    good: int
    goodput_per_s: float
    met: bool
    saturated: bool
    aborted: bool = False

    def holds(self, share: float) -> bool:
        """Return whether the objectives are met, and at least this share of answers is good with 95 % confidence."""
        if self.aborted:  # what was measured until then does not predict the rest
            return False
        return self.met and not self.saturated and wilson_interval(self.good, self.requests)[0] >= share


@dataclass(slots=True)
class RateSearch:
    """Chooses the next rate to try, until the highest that holds is known to `precision` (0.1 means 10 %)."""

    first: float
    greatest: float
    share: float
    precision: float = 0.1
    steps: list[RateStep] = field(default_factory=list)

    def record(self, step: RateStep) -> None:
        """Record the result of the last rate."""
        self.steps.append(step)

    @property
    def highest_holding(self) -> float | None:
        """The highest rate that held; None if none did."""
        return max((step.rate_per_s for step in self.steps if step.holds(self.share)), default=None)

    @property
    def lowest_failing(self) -> float | None:
        """The lowest rate that did not hold; None if all did."""
        return min((step.rate_per_s for step in self.steps if not step.holds(self.share)), default=None)

    def next_rate(self) -> float | None:
        """Return the next rate to try; None if the result is known, or if 1 % of the first rate does not hold."""
        held, failed = self.highest_holding, self.lowest_failing
        if held is None and failed is None:
            return min(self.first, self.greatest)
        if failed is None and held is not None:
            return None if held >= self.greatest else min(self.greatest, held * FACTOR)
        if held is None and failed is not None:
            return failed / FACTOR if failed / FACTOR >= self.first / 100 else None
        if held is None or failed is None or failed <= held or failed / held <= 1 + self.precision:
            return None
        return math.sqrt(held * failed)


def is_saturated(sent_per_s: list[int], answers_per_s: list[int]) -> bool:
    """Return whether the answers fell further and further behind.

    That is so if the number of requests without an answer grew in both halves of the test, and at its end was more
    than a tenth of all requests.
    """
    backlog, unanswered = [], 0
    for sent, answered in zip(sent_per_s, answers_per_s, strict=True):
        unanswered += sent - answered
        backlog.append(unanswered)
    if len(backlog) < 4:
        return False
    middle = len(backlog) // 2
    return backlog[-1] > backlog[middle] > backlog[0] and backlog[-1] > 0.1 * sum(sent_per_s)
