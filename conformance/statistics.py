"""Sequential statistics: how often a mark must show before an effect is believed, or its absence.

Every round of a trial gives a mark: it speaks for the effect or against it. Two hypotheses stand against each other:
a server that honours a parameter shows the mark at least `honoured` of the time, one that ignores it at most
`ignored`. Wald's sequential probability ratio test (Annals of Mathematical Statistics 16, 1945) weighs them after
every mark. By Ville's inequality the odds against a server that honours the parameter ever reach 1 / `false_alarm`
with at most that probability, whenever one stops; the same holds the other way round with `miss`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Decision = Literal["honoured", "ignored", "open"]
SLACK = 1e-9  # of sums of logarithms: five times log 4 is log 1024, give or take


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The two hypotheses as shares of marks, and the probabilities of the two errors."""

    honoured: float = 0.8
    ignored: float = 0.2
    false_alarm: float = 0.001
    miss: float = 0.02

    def decide(self, marks: Iterable[bool]) -> Decision:
        """The decision at the first mark that allows one; "open" where none does."""
        against = 0.0
        for mark in marks:
            shares = (self.ignored, self.honoured) if mark else (1 - self.ignored, 1 - self.honoured)
            against += math.log(shares[0] / shares[1])
            if against >= -math.log(self.false_alarm) - SLACK:
                return "ignored"
            if against <= math.log(self.miss) + SLACK:
                return "honoured"
        return "open"


CAREFUL = SequentialTest()
TENDENCY = SequentialTest(honoured=0.9, ignored=0.4, miss=0.25)
"""For a tendency that hardly any round contradicts clearly, and most do where it is the wrong way round."""
AT_SIGHT = SequentialTest(miss=0.25)
"""Believes the first mark: for answers that are equal by chance as good as never."""
