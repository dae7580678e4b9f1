"""A sequential test that decides from repeated rounds whether a server honours a parameter.

Every round of a trial either shows an effect or does not. Two hypotheses are compared: a server that honours the
parameter shows the effect in at least the share `honoured` of the rounds, a server that ignores it in at most the share
`ignored`. Wald's sequential probability ratio test (Annals of Mathematical Statistics 16, 1945) compares them after
every round. By Ville's inequality, the odds against a server that honours the parameter reach 1 / `false_alarm` with at
most that probability, however long the trial runs; the same applies to a server that ignores it, with `miss`.

A run has dozens of trials. By Bonferroni's inequality, chance alone makes any of them report a server that honours
everything in at most the share `RUN_FALSE_ALARM` of runs, because each trial is allowed only its part of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Decision = Literal["honoured", "ignored", "open"]
MOST_ROUNDS = 100
RUN_FALSE_ALARM: Final = 0.001
"""The probability that chance alone makes a run report a MUST or a SHOULD."""
MOST_TRIALS: Final = 60
"""The number of trials of a MUST or a SHOULD that a run may have."""
SLACK = 1e-9  # for the rounding of sums of logarithms: five times log 4 is log 1024 only approximately


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The two hypotheses as shares of rounds that show the effect, and the probabilities of the two errors."""

    honoured: float = 0.8
    ignored: float = 0.2
    false_alarm: float = RUN_FALSE_ALARM / MOST_TRIALS
    miss: float = 0.02

    @property
    def fewest_rounds(self) -> int:
        """The number of rounds after which the test is decided if every round shows the effect."""
        return next(number for number in range(1, MOST_ROUNDS + 1) if self.decide([True] * number) != "open")

    def decide(self, rounds: Iterable[bool]) -> Decision:
        """Return the decision after the first round that allows one, else "open". Each item: the effect was shown."""
        against = 0.0
        for shown in rounds:
            shares = (self.ignored, self.honoured) if shown else (1 - self.ignored, 1 - self.honoured)
            against += math.log(shares[0] / shares[1])
            if against >= -math.log(self.false_alarm) - SLACK:
                return "ignored"
            if against <= math.log(self.miss) + SLACK:
                return "honoured"
        return "open"


CAREFUL = SequentialTest()
TENDENCY = SequentialTest(honoured=0.9, ignored=0.4, miss=0.25)
"""For a tendency that hardly any round contradicts if the parameter is honoured, and most do if it is ignored."""
TWICE = SequentialTest(miss=1 / 16)
"""Accepts two rounds that show the effect: for answers that are seldom equal by chance."""
AT_SIGHT = SequentialTest(miss=0.25)
"""Accepts the first round that shows the effect: for answers that are practically never equal by chance."""
NO_PATTERN = SequentialTest(honoured=0.66, ignored=0.05, miss=0.25)
"""For what a server that draws at random does not do in at most every third round, and another one hardly ever does."""
SAME_ANSWER = SequentialTest(honoured=0.92, ignored=0.08, miss=0.25)
"""For answers that must be equal: accepts the first equal pair, and takes five different ones for a difference."""
