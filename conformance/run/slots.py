"""Places: how many exchanges may be under way at a time, some of which are wanted together."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Places:
    """A number of places, given in the order in which they are asked for, but first to who goes ahead.

    A semaphore gives one at a time: who wants six would hold the first while hundreds who came later take their turns.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def taken(self, number: int, *, ahead: bool = False) -> AsyncIterator[None]:
        """So many places, all at once, at most as many as there are. ahead: before everybody who waits."""
        turn = asyncio.get_running_loop().create_future()
        if ahead:
            self._waiting.appendleft((number, turn))
        else:
            self._waiting.append((number, turn))
        self._give(0)
        try:
            await turn
        except asyncio.CancelledError:
            # Its turn may have come in the same moment; if not, who waited behind it may be next.
            self._give(0 if turn.cancelled() else number)
            raise
        try:
            yield
        finally:
            self._give(number)

    def _give(self, number: int) -> None:
        """Makes places free, and lets those in whose turn it is."""
        self._free += number
        while self._waiting:
            wanted, turn = self._waiting[0]
            if not turn.cancelled():
                if wanted > self._free:
                    return
                self._free -= wanted
                turn.set_result(None)
            self._waiting.popleft()
