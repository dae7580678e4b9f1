"""Threads that read requests: many for small bodies, one for large bodies, which stops when its client leaves."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Event
from typing import TYPE_CHECKING, Final, TypeVar

from starlette.requests import ClientDisconnect

from reference_server.http.admission import LARGE_BYTES
from reference_server.http.delivery import wait_for_disconnect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import Receive

T = TypeVar("T")

RELEASE_DELAY_S: Final = 1.0
"""Time from the end of a large request to the return of its memory, so that a series of them returns it once."""


class RequestThreads:
    """Runs the stages of reading requests in threads, so that a large body delays only other large bodies.

    release_memory: called in a thread after large bodies and media.
    """

    def __init__(self, release_memory: Callable[[], None]) -> None:
        self._release_memory = release_memory
        self._large = ThreadPoolExecutor(1, thread_name_prefix="large-requests")
        self._release: asyncio.TimerHandle | None = None

    async def run(self, size: int, stages: Iterator[T], receive: Receive) -> T:
        """Return the result of the last stage. Raises ClientDisconnect if the client of a large body leaves before."""
        if size < LARGE_BYTES:
            return await asyncio.to_thread(_run, stages, Event())
        left = Event()
        # In the context of the request, as `to_thread` does: it names the engine of a server that has several.
        run = copy_context().run
        working = asyncio.get_running_loop().run_in_executor(self._large, run, _run, stages, left)
        leaving = asyncio.ensure_future(wait_for_disconnect(receive))
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientDisconnect
            return working.result()
        finally:
            left.set()
            working.cancel()  # has an effect only before it starts
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            self.schedule_release()

    def schedule_release(self) -> None:
        """Return freed memory to the system soon: a large body, or a file of megabytes, has been read."""
        loop = asyncio.get_running_loop()
        if self._release is not None:
            self._release.cancel()
        self._release = loop.call_later(RELEASE_DELAY_S, self._large.submit, self._release_memory)


def _run(stages: Iterator[T], left: Event) -> T:
    """Run the stages and return the last result; stop after any stage if the client has left."""
    results: list[T] = []
    for result in stages:
        if left.is_set():
            raise ClientDisconnect
        results = [result]
    return results[0]
