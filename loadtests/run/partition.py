"""Partition the numbers of the requests over workers, so that each is sent once and none is left out. Does no I/O.

Worker i of n sends i, i + n, and so on. A worker that joins while a closed loop runs gets every second number of the
worker that has most left. Only that worker knows which numbers it has sent, so it is asked to split its part.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

Part = tuple[int, int]
"""The numbers of one worker: the first, and the step from each to the next."""


class Partition:
    """The master's record of the workers of a test and of the step of each."""

    def __init__(self) -> None:
        self._assigned: dict[str, Part] = {}
        self._steps: dict[str, float] = {}

    def assign(self, workers: Sequence[str]) -> Iterator[tuple[str, Part]]:
        """Assign a part to each worker that is present when a test begins."""
        self._steps = dict.fromkeys(workers, len(workers))
        self._assigned = {worker: (index, len(workers)) for index, worker in enumerate(workers)}
        return iter(self._assigned.items())

    def get_part(self, worker: str) -> Part | None:
        """Return the part of a worker that was present when the test began."""
        return self._assigned.get(worker)

    def choose_worker_to_split(self, newcomer: str, present: Collection[str]) -> str | None:
        """Choose the present worker that must split its part for one that joins late: the one with the smallest step.

        Return None if the newcomer has a part or will get one, or if no worker has numbers.
        """
        candidates = [worker for worker, step in self._steps.items() if worker in present and step < math.inf]
        if newcomer in self._steps or not candidates:
            return None
        self._steps[newcomer] = math.inf  # it has no numbers yet that could be split
        chosen = min(candidates, key=self._steps.__getitem__)
        self._steps[chosen] *= 2
        return chosen

    def record_split(self, newcomer: str, step: int) -> None:
        """Record that the newcomer has its part, which may be split in turn."""
        self._steps[newcomer] = step
