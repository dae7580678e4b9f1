"""The search for the highest rate whose objectives hold: geometric up, then bisection. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

FACTOR: Final = 2.0
CONFIDENCE: Final = 1.96
"""Standard deviations of a two-sided interval of 95 %."""


@dataclass(frozen=True, slots=True)
class Step:
    """One rate that was tried. `requests` of it were answered or failed, `good` met every objective by themselves;
    `saturated`: answers fell ever further behind; `given_up`: the test of it ended before its time, as hopeless."""

    rate_per_s: float
    requests: int
    good: int
    goodput_per_s: float
    met: bool
    saturated: bool
    given_up: bool = False

    def holds(self, share: float) -> bool:
        """Whether the rate can be called good: objectives met, and surely at least this share of good answers."""
        if self.given_up:  # what it had until then says nothing of the rest
            return False
        return self.met and not self.saturated and wilson_lower(self.good, self.requests) >= share


@dataclass(slots=True)
class Search:
    """Says which rate to try next, until the highest that holds is known to `precision` (0.1: 10 %)."""

    first: float
    most: float
    share: float
    precision: float = 0.1
    steps: list[Step] = field(default_factory=list)

    def note(self, step: Step) -> None:
        """Takes what came of the last rate."""
        self.steps.append(step)

    @property
    def holding(self) -> float | None:
        """The highest rate that held; None when none did."""
        return max((step.rate_per_s for step in self.steps if step.holds(self.share)), default=None)

    @property
    def failing(self) -> float | None:
        """The lowest rate that did not."""
        return min((step.rate_per_s for step in self.steps if not step.holds(self.share)), default=None)

    def next_rate(self) -> float | None:
        """The next rate to try; None when the answer is known, or when even a hundredth of the first does not hold."""
        held, failed = self.holding, self.failing
        if held is None and failed is None:
            return min(self.first, self.most)
        if failed is None and held is not None:
            return None if held >= self.most else min(self.most, held * FACTOR)
        if held is None and failed is not None:
            return failed / FACTOR if failed / FACTOR >= self.first / 100 else None
        if held is None or failed is None or failed <= held or failed / held <= 1 + self.precision:
            return None
        return math.sqrt(held * failed)


def wilson_lower(successes: int, trials: int) -> float:
    """The lower end of Wilson's 95 % interval of a share: what the share surely is, from so few trials."""
    if trials == 0:
        return 0.0
    share, z2 = successes / trials, CONFIDENCE**2
    middle = share + z2 / (2 * trials)
    spread = CONFIDENCE * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    return max(0.0, (middle - spread) / (1 + z2 / trials))


def requests_needed(share: float) -> int:
    """How many requests, all good, are needed before Wilson's bound reaches a share."""
    return math.ceil(CONFIDENCE**2 * share / (1 - share))


def saturated(sent_per_s: list[int], answers_per_s: list[int]) -> bool:
    """Whether answers fell ever further behind: what was waiting grew in both halves of the run, and at its end was
    more than a tenth of all that had been sent."""
    waiting, open_ = [], 0
    for sent, answered in zip(sent_per_s, answers_per_s, strict=True):
        open_ += sent - answered
        waiting.append(open_)
    if len(waiting) < 4:
        return False
    middle = len(waiting) // 2
    return waiting[-1] > waiting[middle] > waiting[0] and waiting[-1] > 0.1 * sum(sent_per_s)
