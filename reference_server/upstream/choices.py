"""Several choices made of what an upstream has: of a request for each, or of more of them than go on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.engine import Generation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from reference_server.engine import Delta


MOST_AT_ONCE: Final = 16
"""Requests that one request makes of an upstream at the same time; 128 would push everybody else out of its queue."""


class Several(Generation):
    """One choice from each of several generations, 16 of them at a time, read no faster than their reader reads."""

    def __init__(self, parts: Sequence[Generation]) -> None:
        self.prompt_tokens = 0
        self._parts = tuple(parts)
        self._arrived: asyncio.Queue[Delta | Exception | None] = asyncio.Queue(maxsize=len(parts))
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._tasks: list[asyncio.Task[None]] = []
        self._unfinished = len(parts)
        self._cancelled = False

    def __aiter__(self) -> Several:
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
            async with self._places:
                async for delta in self._parts[index]:
                    await self._arrived.put(replace(delta, index=index))
        except Exception as error:
            await self._arrived.put(error)
        else:
            await self._arrived.put(None)


class Ranked(Generation):
    """The n likeliest of the choices of a generation, the best first; all come once all are known.

    The rank is the sum of the log-probabilities of a choice's tokens. told: whether those go on with the tokens.
    """

    def __init__(self, source: Generation, n: int, *, told: bool) -> None:
        self.prompt_tokens = 0
        self._source = source
        self._n = n
        self._told = told
        self._best: AsyncIterator[Delta] | None = None

    def __aiter__(self) -> Ranked:
        return self

    async def __anext__(self) -> Delta:
        if self._best is None:
            self._best = self._chosen()
        return await anext(self._best)

    def cancel(self) -> None:
        self._source.cancel()

    async def _chosen(self) -> AsyncIterator[Delta]:
        held: dict[int, list[Delta]] = {}
        async for delta in self._source:
            held.setdefault(delta.index, []).append(delta)
        self.prompt_tokens = self._source.prompt_tokens
        for rank, deltas in enumerate(sorted(held.values(), key=_unlikeliness)[: self._n]):
            for delta in deltas:
                yield replace(delta, index=rank, logprob=delta.logprob if self._told else None)


def _unlikeliness(deltas: Sequence[Delta]) -> float:
    return -sum(delta.logprob.logprob for delta in deltas if delta.logprob is not None)
