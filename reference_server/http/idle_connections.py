"""The limit of open connections: beyond it, the one that has been idle for longest is closed."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

MAX_CONNECTIONS: Final = 4096
MAX_SPARE: Final = 256
FEWEST: Final = 4
OPEN_FILES: Final = Path("/proc/self/fd")
ASSUMED_OPEN_FILES: Final = 64

_log = logging.getLogger(__name__)


def spare_descriptors() -> int:
    """Return how many file descriptors to keep free: for files, for upstreams, and for connections being accepted."""
    return min(MAX_SPARE, _descriptor_limit() // 4)


def connection_limit() -> int:
    """Return how many connections this process can keep open without running out of file descriptors."""
    used = ASSUMED_OPEN_FILES
    with suppress(OSError):
        used = len(list(OPEN_FILES.iterdir()))
    return max(FEWEST, min(MAX_CONNECTIONS, _descriptor_limit() - used - spare_descriptors()))


def _descriptor_limit() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit for sockets
        return 2 * MAX_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else soft


class IdleConnections:
    """The open connections of a server, and those that wait for their client, in the order of their last byte.

    A connection whose request is being answered is not idle, and is never closed here: the number of requests in flight
    has a limit of its own.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = connection_limit() if limit is None else limit
        self._open: dict[object, asyncio.Transport] = {}
        self._idle: dict[object, None] = {}
        self._reported = False

    def add(self, connection: object, transport: asyncio.Transport) -> None:
        """Add a new connection. If there are too many, abort the idlest one, which may be the new one."""
        self._open[connection] = transport
        self._idle[connection] = None
        if len(self._open) > self._limit:
            self._report()
            idlest = next(iter(self._idle))
            self._idle.pop(idlest)
            self._open.pop(idlest).abort()

    def mark_idle(self, connection: object) -> None:
        """Record that bytes of the client arrived just now, or that its request was answered."""
        if connection in self._open:
            self._idle.pop(connection, None)
            self._idle[connection] = None

    def mark_busy(self, connection: object) -> None:
        """Record that the request of a connection is complete and being answered."""
        self._idle.pop(connection, None)

    def remove(self, connection: object) -> None:
        """Forget a connection that was closed."""
        self._open.pop(connection, None)
        self._idle.pop(connection, None)
        if len(self._open) < self._limit // 2:
            self._reported = False

    def _report(self) -> None:
        """Write one log line, and no other before the number of connections has fallen to half of the limit."""
        if not self._reported:
            self._reported = True
            _log.warning("%d connections are open, the limit: the idlest are closed", self._limit)
