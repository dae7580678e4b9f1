"""The scheduler, which selects the sequences of each forward pass."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from reference_server.engine.loop.prefill_limit import PrefillLimit
from reference_server.engine.loop.sequence import Sequence, SequenceStatus
from reference_server.engine.model.prefix_cache import PrefixCache
from reference_server.engine.protocol import PREFILL_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class RowCopy:
    """A copy of the first `length` positions from the row of one slot to that of another."""

    source: int
    target: int
    length: int


@dataclass(frozen=True, slots=True)
class Batch:
    """The sequences of one forward pass.

    prefill: whether the pass computes the next part of each prompt, instead of one new token per sequence (decode).
    starts, ends: of a prefill: number of tokens of each prompt in the cache before and after the pass; a sequence whose
        prompt is complete then gets its first token.
    copies: row copies to make before the pass, in order.
    decoding: of a prefill: other sequences that get a new token in the same pass.
    """

    prefill: bool
    sequences: tuple[Sequence, ...]
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    copies: tuple[RowCopy, ...] = ()
    decoding: tuple[Sequence, ...] = ()

    @property
    def prompt_tokens(self) -> int:
        """Number of prompt tokens to compute; a prompt that several sequences share counts once."""
        spans = zip(self.sequences, self.starts, self.ends, strict=True) if self.prefill else ()
        return sum({id(sequence.prompt): end - start for sequence, start, end in spans}.values())

    @property
    def slots(self) -> list[int]:
        """The slot of each sequence."""
        return [sequence.slot for sequence in self.sequences if sequence.slot is not None]


class Scheduler:
    """First come, first served within each priority, on a fixed number of slots.

    A waiting sequence is admitted when a slot is free and all sequences in front of it are admitted; sequences that
    start together wait until there is a slot for each. Prefills and decodes alternate while there is work for both. One
    prefill has at most `prefill_tokens` tokens, including padding; a prompt that several sequences share counts once.
    Longer prompts are split into chunks of that size. So a running sequence waits for at most `prefill_tokens` tokens
    of other requests between two of its own tokens.

    reuse: whether a prompt reuses the longest prefix that it has in common with the row of any slot, free or in use.
    mixes: whether running sequences get their next tokens in the same pass as a prefill, instead of in alternation. The
        number of prompt tokens in such a pass follows from measured times.
    release: called with the slot of each sequence that has ended.
    """

    def __init__(
        self,
        slots: int,
        prefill_tokens: int = PREFILL_TOKENS,
        *,
        reuse: bool = True,
        mixes: bool = False,
        release: Callable[[int], None] = lambda _slot: None,
    ) -> None:
        self._release = release
        self._free = list(range(slots))  # a heap: taking the lowest slot first keeps the running rows adjacent
        self._mixes = mixes
        self._limit = PrefillLimit(prefill_tokens)
        self._prefix_cache = PrefixCache() if reuse else None
        self._waiting: deque[tuple[Sequence, ...]] = deque()  # groups of sequences that start together
        self._partial: tuple[Sequence, ...] = ()  # sequences whose prompt is only partly prefilled
        self._running: list[Sequence] = []
        self._decode_next = False

    @property
    def free_slots(self) -> int:
        return len(self._free)

    @property
    def waiting(self) -> int:
        """Number of sequences that wait for a slot."""
        return sum(map(len, tuple(self._waiting)))

    @property
    def running(self) -> tuple[Sequence, ...]:
        """The sequences that have a slot."""
        return (*self._running, *self._partial)

    @property
    def busy(self) -> bool:
        """Whether any sequence is waiting or running."""
        return bool(self._running or self._partial or self._waiting)

    def add(self, *group: Sequence) -> None:
        """Queue sequences that start together, at most one per slot, behind all waiting ones of the same priority."""
        position = len(self._waiting)
        while position and self._waiting[position - 1][0].params.priority > group[0].params.priority:
            position -= 1
        self._waiting.insert(position, group)

    def drop_cancelled(self) -> list[Sequence]:
        """Finish and return the sequences that were cancelled, waiting or running."""
        # Read each flag once: another thread may set it meanwhile, and the sequences of a request are dropped together.
        unfinished = [*self._running, *self._partial, *chain.from_iterable(self._waiting)]
        cancelled = {sequence.cancellation for sequence in unfinished if sequence.cancellation.requested}
        if not cancelled:
            return []
        dropped = [sequence for sequence in unfinished if sequence.cancellation in cancelled]
        self._waiting = deque(group for group in self._waiting if group[0].cancellation not in cancelled)
        for sequence in dropped:
            if sequence.slot is not None:
                self.finish(sequence)
            sequence.status = SequenceStatus.FINISHED
        return dropped

    def schedule(self) -> Batch | None:
        """Return the next batch, or None without sequences."""
        if self._mixes:
            running = tuple(self._running)
            batch = self._schedule_prefill()
            return replace(batch, decoding=running) if batch else Batch(False, running) if running else None
        decode = self._decode_next and bool(self._running)
        self._decode_next = False
        if not decode and (batch := self._schedule_prefill()):
            self._decode_next = True
            return batch
        return Batch(False, tuple(self._running)) if self._running else None

    def record(self, batch: Batch, seconds: float) -> None:
        """Record how long a batch took."""
        self._limit.record(seconds, prompt_tokens=batch.prompt_tokens, others=len(batch.decoding))

    def finish(self, sequence: Sequence) -> None:
        """Remove a running sequence and free its slot."""
        if sequence.slot is None:
            raise ValueError("a sequence without a slot is not running")
        if sequence in self._partial:
            self._partial = tuple(other for other in self._partial if other is not sequence)
        else:
            self._running.remove(sequence)
        heapq.heappush(self._free, sequence.slot)
        self._release(sequence.slot)
        sequence.slot = None
        sequence.status = SequenceStatus.FINISHED

    def invalidate(self, sequence: Sequence) -> None:
        """Remove the row of a running sequence from the prefix cache."""
        if self._prefix_cache is not None and sequence.slot is not None:
            self._prefix_cache.invalidate(sequence.slot)

    def _schedule_prefill(self) -> Batch | None:
        """Return the next prefill: prompts in order of arrival, as many as fit into one pass."""
        if self._mixes:
            return self._fill_pass()
        most = self._limit.count_tokens(running=0, prompts=1)
        chosen = list(self._partial)
        copies: list[RowCopy] = []
        longest = len(chosen[0].prompt) - chosen[0].prefilled if chosen else 0
        prompts = 1 if chosen else 0
        while self._waiting and len(self._waiting[0]) <= len(self._free):
            group = self._waiting[0]
            if chosen and chosen[-1].prompt is group[0].prompt:
                self._admit(group, chosen[-1].prefilled)
            else:
                source, length = self._find_cached_prefix(group[0])
                left = max(longest, len(group[0].prompt) - length)
                if chosen and left * (prompts + 1) > most:
                    break
                longest = left
                prompts += 1
                self._admit(group, length)
                copies += self._prepare_rows(group, source, length)
            chosen += group
        if not chosen:
            return None
        chunk_tokens = most // prompts
        ends = [min(len(sequence.prompt), sequence.prefilled + chunk_tokens) for sequence in chosen]
        return self._prefill_until(chosen, ends, copies)

    def _fill_pass(self) -> Batch | None:
        """Return the next prefill without padding: it ends within a prompt where the limit of its tokens is reached."""
        left = self._limit.count_tokens(running=len(self._running), prompts=self._count_prompts())
        chosen: list[Sequence] = []
        ends: list[int] = []
        copies: list[RowCopy] = []

        def choose(group: tuple[Sequence, ...]) -> int:
            """Add sequences with a common prompt; return how many of its tokens are computed."""
            known = bool(chosen) and chosen[-1].prompt is group[0].prompt
            end = ends[-1] if known else min(len(group[0].prompt), group[0].prefilled + left)
            chosen.extend(group)
            ends.extend([end] * len(group))
            return 0 if known else end - group[0].prefilled

        if self._partial:
            left -= choose(self._partial)
        while self._waiting and len(self._waiting[0]) <= len(self._free):
            group = self._waiting[0]
            if chosen and chosen[-1].prompt is group[0].prompt:
                self._admit(group, chosen[-1].prefilled)
            elif left > 0:
                source, length = self._find_cached_prefix(group[0])
                self._admit(group, length)
                copies += self._prepare_rows(group, source, length)
            else:
                break
            left -= choose(group)
        return self._prefill_until(chosen, ends, copies) if chosen else None

    def _count_prompts(self) -> int:
        """Return the number of unfinished prompts that have a slot, or can have one at once."""
        free, prompts = len(self._free), 1 if self._partial else 0
        for group in self._waiting:
            free -= len(group)
            if free < 0:
                break
            prompts += 1
        return prompts

    def _prefill_until(self, chosen: list[Sequence], ends: list[int], copies: list[RowCopy]) -> Batch:
        """Return the batch that takes each prompt to an end; only the last of its prompts may remain unfinished."""
        starts = tuple(sequence.prefilled for sequence in chosen)
        for sequence, end in zip(chosen, ends, strict=True):
            sequence.prefilled = end
        complete = [sequence for sequence in chosen if sequence.prefilled == len(sequence.prompt)]
        partial = tuple(sequence for sequence in chosen if sequence.prefilled < len(sequence.prompt))
        self._cache_prompts([*complete, *partial[:1]])
        self._partial = partial
        self._running += complete
        return Batch(True, tuple(chosen), starts, tuple(ends), tuple(copies))

    def _admit(self, group: tuple[Sequence, ...], prefilled: int) -> None:
        self._waiting.popleft()
        for sequence in group:
            sequence.slot = heapq.heappop(self._free)
            sequence.status = SequenceStatus.RUNNING
            sequence.prefilled = sequence.cached_tokens = prefilled

    def _find_cached_prefix(self, sequence: Sequence) -> tuple[int, int]:
        """Return (slot, length) of the longest cached prefix of a sequence's prompt."""
        if self._prefix_cache is None:
            return -1, 0
        return self._prefix_cache.find_longest(sequence.prompt, sequence.params.cache_salt)

    def _prepare_rows(self, group: tuple[Sequence, ...], source: int, length: int) -> Iterator[RowCopy]:
        """Yield the copies that move cached prefixes out of a group's rows and bring the prefix of its prompt in."""
        if self._prefix_cache is None:
            return
        first, *others = [sequence.slot for sequence in group if sequence.slot is not None]
        if length and source != first:
            self._prefix_cache.touch(source)
            yield from self._evict(first, source)
            yield RowCopy(source, first, length)
        elif not length:
            yield from self._evict(first)
        for slot in others:
            yield from self._evict(slot)
        for slot in (first, *others):
            self._prefix_cache.invalidate(slot)

    def _evict(self, slot: int, source: int | None = None) -> Iterator[RowCopy]:
        if self._prefix_cache is not None:
            targets = [free for free in self._free if free != source]
            if (moved := self._prefix_cache.evict(slot, targets)) is not None:
                yield RowCopy(slot, *moved)

    def _cache_prompts(self, sequences: list[Sequence]) -> None:
        if self._prefix_cache is not None:
            for sequence in sequences:
                if sequence.slot is not None:
                    self._prefix_cache.insert(
                        sequence.slot, sequence.prompt[: sequence.prefilled], sequence.params.cache_salt
                    )
