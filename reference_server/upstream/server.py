"""UpstreamServer: one server behind the gateway: its connections, its deadlines, and whether it can be reached."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_server.upstream.connection import Connection, Dropped, Late, Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.upstream.upstream_address import Origin

MOST_IDLE_CONNECTIONS: Final = 32
MOST_PLAIN_BYTES: Final = 32 * 2**20
"""Largest answer that is taken whole: 128 choices with log-probabilities stay below it."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long the gateway waits, in seconds.

    connect: for a connection, with TLS. first: for the head of the answer and its first byte; queue and prefill of the
    upstream are in it. gap: between two pieces of an answer. total: for all of it.
    """

    connect: float = 5.0
    first: float = 300.0
    gap: float = 60.0
    total: float = 3600.0


class UpstreamServer:
    """One upstream. reachable: what the last attempt to connect, or the last probe, has shown."""

    def __init__(self, origin: Origin, key: str | None, deadlines: Deadlines) -> None:
        self.origin = origin
        self.key = key
        self.deadlines = deadlines
        self.reachable = True
        self._tls = ssl.create_default_context() if origin.scheme == "https" else None
        self._authorization = "" if key is None else f"Authorization: Bearer {key}\r\n"
        self._idle: deque[Connection] = deque()

    async def post(self, path: str, body: bytes) -> Reply:
        """The answer to a POST, once its head is there; raises UpstreamFailure.

        A connection that was kept may have been closed while the request was on its way. It is sent once more then:
        nothing of an answer had come, and a completion changes nothing at the upstream.
        """
        head = self._head("POST", path, f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n")
        return await self._exchange(head + body)

    async def get(self, path: str) -> Reply:
        """The answer to a GET, once its head is there; raises UpstreamFailure."""
        return await self._exchange(self._head("GET", path, ""))

    def close(self) -> None:
        """Ends the connections that wait for requests; those in use end with their answers."""
        while self._idle:
            self._idle.pop().abort()

    def keep(self, connection: Connection) -> None:
        """Takes a connection back whose answer was read to its end."""
        if connection.reusable and len(self._idle) < MOST_IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.abort()

    def _head(self, method: str, path: str, rest: str) -> bytes:
        # Nothing of a client's request stands here: neither its path, nor a header, nor its key.
        return (
            f"{method} {self.origin.prefix}{path} HTTP/1.1\r\nHost: {self.origin.authority}\r\n"
            f"Accept: application/json, text/event-stream\r\nUser-Agent: chatproof\r\n{self._authorization}{rest}\r\n"
        ).encode()

    async def _exchange(self, request: bytes) -> Reply:
        while True:
            connection = await self._connection()
            try:
                connection.send(request)
                headers = await connection.head(self.deadlines.first)
            except Dropped as failure:
                if connection.used and not failure.begun:
                    continue
                raise
            except BaseException:
                connection.abort()
                raise
            return Reply(self, connection, connection.status, headers)

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()  # the last one used: the others may grow old and be closed
            if connection.reusable:
                return connection
        try:
            async with asyncio.timeout(self.deadlines.connect):
                _, made = await asyncio.get_running_loop().create_connection(
                    Connection, self.origin.host, self.origin.port, ssl=self._tls
                )
        except TimeoutError:
            self.reachable = False
            raise Unreachable(f"{self.origin}: no connection within {self.deadlines.connect:g} s") from None
        except OSError as error:
            self.reachable = False
            raise Unreachable(f"{self.origin}: {error.strerror or error}") from error
        self.reachable = True
        return made


class Reply:
    """An answer that has begun: read it to its end, or leave it with `close`."""

    def __init__(
        self, server: UpstreamServer, connection: Connection, status: int, headers: Mapping[bytes, bytes]
    ) -> None:
        self.status = status
        self.headers = headers
        self._server = server
        self._connection = connection
        self._seconds = server.deadlines.first
        self._end_at = asyncio.get_running_loop().time() + server.deadlines.total
        self._open = True

    @property
    def media_type(self) -> bytes:
        """Of the body, in lower case and without parameters."""
        return self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()

    async def read(self) -> bytes:
        """The next piece of the body, b"" after the last; raises UpstreamFailure."""
        left = self._end_at - asyncio.get_running_loop().time()
        if left <= 0:
            self.close()
            raise Late(f"the answer was not whole within {self._server.deadlines.total:g} s")
        data = await self._connection.read(min(self._seconds, left))
        self._seconds = self._server.deadlines.gap
        if not data:
            self.close()
        return data

    async def whole(self, limit_bytes: int = MOST_PLAIN_BYTES) -> bytes:
        """All of the body; raises UpstreamFailure, also where it is larger than the limit."""
        body = bytearray()
        while data := await self.read():
            body += data
            if len(body) > limit_bytes:
                self.close()
                raise Dropped(f"the answer has more than {limit_bytes} bytes", begun=True)
        return bytes(body)

    def close(self) -> None:
        """Leaves the answer: an unfinished one ends here and now, also at the upstream. Harmless when repeated."""
        if self._open:
            self._open = False
            self._server.keep(self._connection)
