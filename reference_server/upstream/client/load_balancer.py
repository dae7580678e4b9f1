"""Round-robin load balancing over several upstreams, which skips those that are unreachable."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from reference_server.upstream.client.connection import UpstreamFailure, UpstreamUnreachable
from reference_server.upstream.client.probe_client import ProbeClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_server.upstream.client.server import UpstreamReply, UpstreamServer

PROBE_EVERY_S: Final = 1.0


class LoadBalancer:
    """Sends requests to upstreams in turn. An unreachable upstream is skipped until a probe reaches it again.

    It has no weights, queues or sessions; docs/gateway.md names load balancers that have them.
    """

    def __init__(self, servers: Sequence[UpstreamServer], probe_path: str, *, every_s: float = PROBE_EVERY_S) -> None:
        self.servers = tuple(servers)
        self._probe_path = probe_path
        self._every_s = every_s
        self._next = 0
        self._probing: asyncio.Task[None] | None = None

    @property
    def reachable(self) -> bool:
        """Whether at least one upstream was reachable when last tried."""
        return any(server.reachable for server in self.servers)

    async def post(self, path: str, body: bytes) -> UpstreamReply:
        """Return the answer of the next upstream that accepts a connection.

        Another upstream is tried only if nothing was sent. Raises UpstreamUnreachable when all were tried.
        """
        if not all(server.reachable for server in self.servers):
            self._start_probing()
        failure: UpstreamFailure = UpstreamUnreachable("no upstream was tried")
        for server in self._next_servers():
            try:
                return await server.post(path, body)
            except UpstreamUnreachable as error:
                failure = error
                self._start_probing()
        raise failure

    def close(self) -> None:
        """Stop the probes and close idle connections; call it on the event loop, or after the loop has ended."""
        if self._probing is not None:
            self._probing.cancel()
        for server in self.servers:
            server.close()

    def _next_servers(self) -> Iterator[UpstreamServer]:
        """Yield every upstream once in round-robin order, those known to be unreachable last."""
        start, self._next = self._next, (self._next + 1) % len(self.servers)
        servers = [*self.servers[start:], *self.servers[:start]]
        yield from sorted(servers, key=lambda server: not server.reachable)

    def _start_probing(self) -> None:
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe_until_reachable())

    async def _probe_until_reachable(self) -> None:
        while unreachable := [server for server in self.servers if not server.reachable]:
            await asyncio.sleep(self._every_s)
            await asyncio.gather(*(self._probe(server) for server in unreachable))

    async def _probe(self, server: UpstreamServer) -> None:
        with suppress(UpstreamFailure):
            async with ProbeClient(server) as client:
                await client.get_json(self._probe_path)
