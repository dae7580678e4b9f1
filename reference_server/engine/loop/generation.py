"""The reading end of a request, and the delivery of deltas to event loops."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from reference_server.engine.protocol import Delta, EngineError, Generation

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from reference_server.engine.loop.submission import Submission
    from reference_server.engine.protocol import Prompt

Item = Delta | EngineError


class LocalGeneration(Generation):
    """The reading end of one request of a local engine.

    prompt_pending: whether the first delta still needs the prompt; used by the engine's thread only.
    prompt: to send with the next delta.
    """

    def __init__(self, submission: Submission, loop: asyncio.AbstractEventLoop) -> None:
        self.prompt_tokens: int | None = len(submission.prompt)
        self.submission = submission
        self.loop = loop
        self._queue: deque[Item] = deque()  # an asyncio.Queue would cost a third of the time to send a token
        self._waiter: asyncio.Future[None] | None = None
        self._unfinished = submission.params.n
        self._over = False
        self.prompt_pending = submission.params.includes_prompt
        self.prompt: Prompt | None = None

    def __aiter__(self) -> LocalGeneration:
        return self

    async def __anext__(self) -> Delta:
        if self._over:
            raise StopAsyncIteration
        while not self._queue:
            self._waiter = self.loop.create_future()
            await self._waiter
            if self._over:  # cancelled while waiting
                raise StopAsyncIteration
        item = self._queue.popleft()
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
            self._wake()

    def deliver(self, item: Item) -> None:
        """Queue an item for the reader; call it on the loop's thread."""
        self._queue.append(item)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def deliver_all(items: Iterable[tuple[LocalGeneration, Item]]) -> None:
    """Deliver the items of a step from another thread, in one call per event loop.

    A closed loop has no readers: its requests are cancelled.
    """
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[LocalGeneration, Item]]] = {}
    for generation, item in items:
        by_loop.setdefault(generation.loop, []).append((generation, item))
    for loop, batch in by_loop.items():
        try:
            loop.call_soon_threadsafe(_deliver_batch, batch)
        except RuntimeError:
            for generation, _ in batch:
                generation.submission.cancellation.requested = True


def _deliver_batch(batch: list[tuple[LocalGeneration, Item]]) -> None:
    for generation, item in batch:
        generation.deliver(item)
