"""Scheduler: which sequences go through the next forward pass."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from itertools import chain

from .sequence import Sequence, Status

MAX_PREFILL_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Batch:
    """The sequences of one forward pass: all at their prompt (prefill), or all at one new token (decode)."""

    prefill: bool
    sequences: tuple[Sequence, ...]

    @property
    def slots(self) -> list[int]:
        """The slot of each sequence."""
        return [sequence.slot for sequence in self.sequences if sequence.slot is not None]


class Scheduler:
    """First come, first served, on a fixed number of slots.

    A waiting sequence is admitted as soon as a slot is free and everybody before it was admitted; sequences
    that start together wait until there is a slot for each. Prefills and decodes alternate while there is work
    for both, so a stream of arrivals delays a running sequence by one prefill a token at most. One prefill
    holds at most `max_prefill_tokens` tokens, padding counted and a prompt that sequences share counted once,
    or a single longer prompt.
    """

    def __init__(self, slots: int, max_prefill_tokens: int = MAX_PREFILL_TOKENS) -> None:
        self._free = list(range(slots))  # a heap: the lowest slot first keeps the running rows together
        self._max_prefill_tokens = max_prefill_tokens
        self._waiting: deque[tuple[Sequence, ...]] = deque()  # each entry starts together
        self._running: list[Sequence] = []
        self._decode_next = False

    @property
    def free_slots(self) -> int:
        return len(self._free)

    @property
    def busy(self) -> bool:
        """Whether any sequence is waiting or running."""
        return bool(self._running or self._waiting)

    def add(self, *together: Sequence) -> None:
        """Queue sequences that start together; no more than there are slots."""
        self._waiting.append(together)

    def drop_cancelled(self) -> list[Sequence]:
        """Finish the sequences that were cancelled, waiting or running, and name them."""
        # Asked for once: somebody may be cancelling while this runs, and sequences of a request go together.
        unfinished = [*self._running, *chain.from_iterable(self._waiting)]
        asked = {sequence.cancellation for sequence in unfinished if sequence.cancellation.requested}
        if not asked:
            return []
        dropped = [sequence for sequence in unfinished if sequence.cancellation in asked]
        self._waiting = deque(each for each in self._waiting if each[0].cancellation not in asked)
        for sequence in dropped:
            if sequence.slot is not None:
                self.finish(sequence)
            sequence.status = Status.FINISHED
        return dropped

    def schedule(self) -> Batch | None:
        """The next batch, or None when nobody is left."""
        decode = self._decode_next and bool(self._running)
        self._decode_next = False
        if not decode and (admitted := self._admit()):
            self._decode_next = True
            return Batch(True, admitted)
        return Batch(False, tuple(self._running)) if self._running else None

    def finish(self, sequence: Sequence) -> None:
        """Take a running sequence out, and free its slot."""
        if sequence.slot is None:
            raise ValueError("a sequence without a slot is not running")
        self._running.remove(sequence)
        heapq.heappush(self._free, sequence.slot)
        sequence.slot = None
        sequence.status = Status.FINISHED

    def _admit(self) -> tuple[Sequence, ...]:
        admitted: list[Sequence] = []
        longest = prompts = 0
        while self._waiting and len(self._waiting[0]) <= len(self._free):
            together = self._waiting[0]
            if not admitted or admitted[-1].prompt is not together[0].prompt:
                prompts += 1
                longest = max(longest, len(together[0].prompt))
                if admitted and longest * prompts > self._max_prefill_tokens:
                    break
            self._waiting.popleft()
            for sequence in together:
                sequence.slot = heapq.heappop(self._free)
                sequence.status = Status.RUNNING
            admitted += together
        self._running += admitted
        return tuple(admitted)
