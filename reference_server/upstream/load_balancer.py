"""Balance: which of several upstreams is asked next: in turn, leaving out those that cannot be reached."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from reference_server.upstream.connection import Unreachable, UpstreamFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_server.upstream.server import Reply, UpstreamServer

PROBE_EVERY_S: Final = 1.0


class Balance:
    """Round-robin over upstreams. One that cannot be connected to is left out until a probe reaches it again.

    That is all: no weights, no queues, no sessions (docs/gateway.md names balancers that have them).
    """

    def __init__(self, servers: Sequence[UpstreamServer], probe_path: str, *, every_s: float = PROBE_EVERY_S) -> None:
        self.servers = tuple(servers)
        self._probe_path = probe_path
        self._every_s = every_s
        self._next = 0
        self._probing: asyncio.Task[None] | None = None

    @property
    def reachable(self) -> bool:
        """Whether any upstream is, as far as is known."""
        return any(server.reachable for server in self.servers)

    async def post(self, path: str, body: bytes) -> Reply:
        """The answer of the next upstream that can be connected to.

        Another one is asked only where nothing was sent. Raises Unreachable once all were tried.
        """
        if not all(server.reachable for server in self.servers):
            self._probe()
        failure: UpstreamFailure = Unreachable("no upstream was tried")
        for server in self._turn():
            try:
                return await server.post(path, body)
            except Unreachable as error:
                failure = error
                self._probe()
        raise failure

    def close(self) -> None:
        """Ends probes and idle connections; on the loop that made them, or after it."""
        if self._probing is not None:
            self._probing.cancel()
        for server in self.servers:
            server.close()

    def _turn(self) -> Iterator[UpstreamServer]:
        """Every upstream once: in turn, those that are known to be unreachable last."""
        start, self._next = self._next, (self._next + 1) % len(self.servers)
        turn = [*self.servers[start:], *self.servers[:start]]
        yield from sorted(turn, key=lambda server: not server.reachable)

    def _probe(self) -> None:
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._until_reachable())

    async def _until_reachable(self) -> None:
        while unreachable := [server for server in self.servers if not server.reachable]:
            await asyncio.sleep(self._every_s)
            await asyncio.gather(*(self._try(server) for server in unreachable))

    async def _try(self, server: UpstreamServer) -> None:
        with suppress(UpstreamFailure):
            await (await server.get(self._probe_path)).whole()
