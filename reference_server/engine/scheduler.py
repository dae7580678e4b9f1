"""Scheduler: which sequences go through the next forward pass."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

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

    A waiting sequence is admitted as soon as a slot is free and everybody before it was admitted. Prefills
    and decodes alternate while there is work for both, so a stream of arrivals delays a running sequence by
    one prefill a token at most. One prefill holds at most `max_prefill_tokens` tokens, padding counted and
    the prompt that sequences share counted once, or a single longer prompt.
    """

    def __init__(self, slots: int, max_prefill_tokens: int = MAX_PREFILL_TOKENS) -> None:
        self._free = list(range(slots))  # a heap: the lowest slot first keeps the running rows together
        self._max_prefill_tokens = max_prefill_tokens
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self._decode_next = False

    @property
    def free_slots(self) -> int:
        return len(self._free)

    @property
    def busy(self) -> bool:
        """Whether any sequence is waiting or running."""
        return bool(self._running or self._waiting)

    @property
    def unfinished(self) -> tuple[Sequence, ...]:
        """Every sequence that is waiting or running, in order of arrival."""
        return (*self._running, *self._waiting)

    def add(self, sequence: Sequence) -> None:
        self._waiting.append(sequence)

    def drop_cancelled(self) -> list[Sequence]:
        """Finish the sequences that were cancelled, waiting or running, and name them."""
        dropped = [sequence for sequence in self.unfinished if sequence.cancelled]
        for sequence in dropped:
            self.finish(sequence)
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
        """Take a sequence out, and free its slot if it has one."""
        if sequence.slot is None:
            self._waiting.remove(sequence)
        else:
            self._running.remove(sequence)
            heapq.heappush(self._free, sequence.slot)
        sequence.slot = None
        sequence.status = Status.FINISHED

    def _admit(self) -> tuple[Sequence, ...]:
        admitted: list[Sequence] = []
        longest = prompts = 0
        while self._waiting and self._free:
            sequence = self._waiting[0]
            if not admitted or admitted[-1].prompt is not sequence.prompt:
                prompts += 1
                longest = max(longest, len(sequence.prompt))
                if admitted and longest * prompts > self._max_prefill_tokens:
                    break
            self._waiting.popleft()
            sequence.slot = heapq.heappop(self._free)
            sequence.status = Status.RUNNING
            admitted.append(sequence)
        self._running += admitted
        return tuple(admitted)
