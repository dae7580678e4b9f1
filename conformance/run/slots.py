"""Slots that limit how many exchanges run at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Slots:
    """A fixed number of slots, granted in the order of the requests; prioritized requests are granted first.

    A semaphore grants one slot at a time: a task that needs six would hold the first one while hundreds of tasks that
    asked later take their turns.

    one_by_one: from now on each request is granted all slots, whatever it asked for.
    """

    def __init__(self, number: int) -> None:
        self.one_by_one = False
        self._number = self._free = number
        self._waiting: deque[tuple[int, asyncio.Future[int]]] = deque()

    @asynccontextmanager
    async def acquire(self, number: int, *, prioritized: bool = False) -> AsyncIterator[None]:
        """Wait until `number` slots are free, and hold them all until the context ends.

        `number` is at most the total number of slots. A prioritized request is granted ahead of all that wait.
        """
        turn = asyncio.get_running_loop().create_future()
        if prioritized:
            self._waiting.appendleft((number, turn))
        else:
            self._waiting.append((number, turn))
        self._release(0)
        try:
            granted = await turn
        except asyncio.CancelledError:
            # The slots may have been granted in the same moment; if not, the next request may now be granted.
            self._release(0 if turn.cancelled() else turn.result())
            raise
        try:
            yield
        finally:
            self._release(granted)

    def _release(self, number: int) -> None:
        """Free `number` slots and grant the requests that now fit, in order."""
        self._free += number
        while self._waiting:
            wanted, turn = self._waiting[0]
            if self.one_by_one:
                wanted = self._number
            if not turn.cancelled():
                if wanted > self._free:
                    return
                self._free -= wanted
                turn.set_result(wanted)
            self._waiting.popleft()
