"""Shares: which worker sends which numbers, so that no number is sent twice and none is left out. Pure.

Worker i of n sends i, i + n, ... One that comes while a closed loop runs gets every second number of a worker that has
most left: only that one knows which it has sent, so it is asked to halve its share, and the rest is as it was.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


class Shares:
    """The master's book of a test's workers: the step of each from one of its numbers to the next."""

    def __init__(self) -> None:
        self._dealt: dict[str, tuple[int, int]] = {}
        self._steps: dict[str, float] = {}

    def deal(self, workers: Sequence[str]) -> Iterator[tuple[str, tuple[int, int]]]:
        """First number and step of each worker that is there as a test begins."""
        self._steps = dict.fromkeys(workers, len(workers))
        self._dealt = {worker: (index, len(workers)) for index, worker in enumerate(workers)}
        return iter(self._dealt.items())

    def dealt(self, worker: str) -> tuple[int, int] | None:
        """The share of a worker that was there as the test began."""
        return self._dealt.get(worker)

    def donor(self, newcomer: str, there: Collection[str]) -> str | None:
        """Who of those there is to halve its share for a worker that comes late: the one with the smallest step. None
        where the newcomer has a share or will get one, or where nobody has any to give."""
        giving = [worker for worker, step in self._steps.items() if worker in there and step < math.inf]
        if newcomer in self._steps or not giving:
            return None
        self._steps[newcomer] = math.inf  # no number yet, so none to give
        found = min(giving, key=self._steps.__getitem__)
        self._steps[found] *= 2
        return found

    def given(self, newcomer: str, step: int) -> None:
        """The newcomer has its share, and may be asked for half of it in turn."""
        self._steps[newcomer] = step
