"""LocalGeneration: where the deltas of one request are read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .protocol import Delta, EngineError, Generation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .submission import Submission

Item = Delta | EngineError


class LocalGeneration(Generation):
    """The reading end of one request of a local engine."""

    def __init__(self, submission: Submission, loop: asyncio.AbstractEventLoop) -> None:
        self.prompt_tokens = len(submission.prompt)
        self.submission = submission
        self.loop = loop
        self._arrived: asyncio.Queue[Item | None] = asyncio.Queue()
        self._unfinished = submission.params.n
        self._over = False
        self.owes_prompt = submission.params.tells_prompt  # the engine's thread alone asks

    def __aiter__(self) -> LocalGeneration:
        return self

    async def __anext__(self) -> Delta:
        if self._over:
            raise StopAsyncIteration
        item = await self._arrived.get()
        if item is None or self._over:  # cancelled while waiting
            raise StopAsyncIteration
        if isinstance(item, Delta):
            if item.finish_reason is not None:
                self._unfinished -= 1
                self._over = self._unfinished == 0
            return item
        self._over = True
        raise item

    def cancel(self) -> None:
        if not self._over:
            self._over = True
            self.submission.cancellation.requested = True
            self._arrived.put_nowait(None)  # for a reader that is waiting already

    def deliver(self, item: Item) -> None:
        """Give the reader an item; on the loop's thread."""
        self._arrived.put_nowait(item)


def hand_over(items: Iterable[tuple[LocalGeneration, Item]]) -> None:
    """Deliver a step's items from the engine's thread, in one call for each event loop.

    A loop that was closed has no readers left: their requests are cancelled.
    """
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[LocalGeneration, Item]]] = {}
    for generation, item in items:
        by_loop.setdefault(generation.loop, []).append((generation, item))
    for loop, batch in by_loop.items():
        try:
            loop.call_soon_threadsafe(_deliver, batch)
        except RuntimeError:
            for generation, _ in batch:
                generation.submission.cancellation.requested = True


def _deliver(batch: list[tuple[LocalGeneration, Item]]) -> None:
    for generation, item in batch:
        generation.deliver(item)
