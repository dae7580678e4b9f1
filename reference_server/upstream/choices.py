"""Several choices from upstream requests: one request for each choice, or the best of more choices than requested."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.engine import Generation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from reference_server.engine import Delta


MAX_PARALLEL: Final = 16
"""Upstream requests that one client request makes at the same time; 128 would crowd other requests out of the queue."""


class CombinedGeneration(Generation):
    """One choice from each of several generations, 16 of them at a time, read only as fast as the consumer reads."""

    def __init__(self, parts: Sequence[Generation]) -> None:
        self.prompt_tokens: int | None = None
        self._parts = tuple(parts)
        self._arrived: asyncio.Queue[Delta | Exception | None] = asyncio.Queue(maxsize=len(parts))
        self._slots = asyncio.Semaphore(MAX_PARALLEL)
        self._tasks: list[asyncio.Task[None]] = []
        self._unfinished = len(parts)
        self._cancelled = False

    def __aiter__(self) -> CombinedGeneration:
        return self

    async def __anext__(self) -> Delta:
        if not self._tasks and not self._cancelled:
            self._tasks = [asyncio.create_task(self._read(index)) for index in range(len(self._parts))]
        while self._unfinished and not self._cancelled:
            item = await self._arrived.get()
            if item is None:
                self._unfinished -= 1
                continue
            if isinstance(item, Exception):
                self.cancel()
                raise item
            self.prompt_tokens = self._parts[item.index].prompt_tokens or self.prompt_tokens
            return item
        raise StopAsyncIteration

    def cancel(self) -> None:
        self._cancelled = True
        for part in self._parts:
            part.cancel()
        for task in self._tasks:
            task.cancel()

    async def _read(self, index: int) -> None:
        try:
            async with self._slots:
                async for delta in self._parts[index]:
                    await self._arrived.put(replace(delta, index=index))
        except Exception as error:
            await self._arrived.put(error)
        else:
            await self._arrived.put(None)


class RankedGeneration(Generation):
    """The n most likely choices of a generation, the most likely first, delivered when all choices are complete.

    Choices are ranked by the sum of their tokens' log-probabilities. with_logprobs: keep the log-probabilities in the
    deltas.
    """

    def __init__(self, source: Generation, n: int, *, with_logprobs: bool) -> None:
        self.prompt_tokens: int | None = None
        self._source = source
        self._n = n
        self._with_logprobs = with_logprobs
        self._best: AsyncIterator[Delta] | None = None

    def __aiter__(self) -> RankedGeneration:
        return self

    async def __anext__(self) -> Delta:
        if self._best is None:
            self._best = self._rank()
        return await anext(self._best)

    def cancel(self) -> None:
        self._source.cancel()

    async def _rank(self) -> AsyncIterator[Delta]:
        choices: dict[int, list[Delta]] = {}
        async for delta in self._source:
            choices.setdefault(delta.index, []).append(delta)
        self.prompt_tokens = self._source.prompt_tokens
        for rank, deltas in enumerate(sorted(choices.values(), key=_negative_log_likelihood)[: self._n]):
            for delta in deltas:
                yield replace(delta, index=rank, logprob=delta.logprob if self._with_logprobs else None)


def _negative_log_likelihood(deltas: Sequence[Delta]) -> float:
    return -sum(delta.logprob.logprob for delta in deltas if delta.logprob is not None)
