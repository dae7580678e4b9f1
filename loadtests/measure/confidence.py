"""Confidence intervals of shares. Does no I/O."""

from __future__ import annotations

import math
from typing import Final

CONFIDENCE: Final = 1.96
"""Standard deviations on each side of a 95 % interval."""


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share; without trials it is 0 to 1."""
    if trials == 0:
        return 0.0, 1.0
    share, z2 = successes / trials, CONFIDENCE**2
    middle = share + z2 / (2 * trials)
    spread = CONFIDENCE * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    scale = 1 + z2 / trials
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def min_trials(share: float) -> int:
    """Return how many trials, all successful, are needed until the lower end of Wilson's interval reaches a share."""
    return math.ceil(CONFIDENCE**2 * share / (1 - share))
