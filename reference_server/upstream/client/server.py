"""One upstream server: its address, its connections, its deadlines, and whether it is reachable."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from reference_server.upstream.client.connection import (
    BrokenAnswer,
    UpstreamConnection,
    UpstreamTimeout,
    UpstreamUnreachable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_IDLE_CONNECTIONS: Final = 32
MAX_BODY_BYTES: Final = 32 * 2**20
"""Maximum size of an answer that is read as a whole: 128 choices with log-probabilities stay below it."""
PORTS: Final = {"http": 80, "https": 443}
WHITE_SPACE: Final = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class UpstreamAddress:
    """The address of an upstream. prefix: beginning of every path, without a trailing slash."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @classmethod
    def parse(cls, url: str) -> UpstreamAddress:
        """Parse http://HOST:PORT, with a path prefix or the full endpoint; raise ValueError with a one-line message."""
        if WHITE_SPACE.search(url):
            raise ValueError(f"invalid upstream URL {url!r}: remove the white space")
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError(f"invalid upstream URL {url!r}: expected http://HOST:PORT")
        if parts.username or parts.password or "@" in parts.netloc:
            raise ValueError("invalid upstream URL: it contains credentials; use --upstream-key-env for the API key")
        if parts.query or parts.fragment:
            raise ValueError(f"invalid upstream URL {url!r}: remove the query and the fragment")
        try:
            port = parts.port
        except ValueError:
            raise ValueError(f"invalid upstream URL {url!r}: expected a port from 0 to 65535") from None
        path = parts.path.rstrip("/")
        prefix = re.sub(r"(/v[0-9]+)?(/chat/completions)?$", "", path)
        return cls(parts.scheme, parts.hostname, port or PORTS[parts.scheme], prefix)

    @property
    def authority(self) -> str:
        """HOST or HOST:PORT, as in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def names(self) -> tuple[str, ...]:
        """The parts of the address that a client must not see, the longest first."""
        return tuple(name for name in (self.authority, self.host, self.prefix.strip("/")) if name)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long the gateway waits, in seconds.

    connect: for a connection, including TLS.
    first: for the head of the answer and its first byte, which includes the upstream's queue and prefill.
    gap: between two pieces of an answer.
    total: for the whole answer.
    """

    connect: float = 5.0
    first: float = 300.0
    gap: float = 60.0
    total: float = 3600.0


class UpstreamServer:
    """One upstream. reachable: result of the last attempt to connect or of the last probe."""

    def __init__(self, address: UpstreamAddress, key: str | None, deadlines: Deadlines) -> None:
        self.address = address
        self.key = key
        self.deadlines = deadlines
        self.reachable = True
        self._tls = ssl.create_default_context() if address.scheme == "https" else None
        self._authorization = "" if key is None else f"Authorization: Bearer {key}\r\n"
        self._idle: deque[UpstreamConnection] = deque()

    async def post(self, path: str, body: bytes) -> UpstreamReply:
        """Send a POST request and return the answer once its head has arrived; raise UpstreamFailure.

        An idle connection may be closed by the upstream while the request is on its way. In that case the request is
        sent again, which is safe: no part of an answer had arrived, and a completion changes no state at the upstream.
        """
        head = self._head(path, f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n")
        return await self._exchange(head + body)

    def close(self) -> None:
        """Close the idle connections; those in use are closed after their answers."""
        while self._idle:
            self._idle.pop().abort()

    def release(self, connection: UpstreamConnection) -> None:
        """Keep a connection for the next request if it can be reused, otherwise close it."""
        if connection.reusable and len(self._idle) < MAX_IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.abort()

    def _head(self, path: str, rest: str) -> bytes:
        # Nothing of the client's request is copied here: neither its path, nor its headers, nor its key.
        return (
            f"POST {self.address.prefix}{path} HTTP/1.1\r\nHost: {self.address.authority}\r\n"
            f"Accept: application/json, text/event-stream\r\nUser-Agent: chatproof\r\n{self._authorization}{rest}\r\n"
        ).encode()

    async def _exchange(self, request: bytes) -> UpstreamReply:
        while True:
            connection = await self._acquire()
            try:
                connection.send(request)
                headers = await connection.head(self.deadlines.first)
            except BrokenAnswer as failure:
                if connection.used and not failure.begun:
                    continue
                raise
            except BaseException:
                connection.abort()
                raise
            return UpstreamReply(self, connection, connection.status, headers)

    async def _acquire(self) -> UpstreamConnection:
        while self._idle:
            connection = self._idle.pop()  # the most recently used one, so that the others can time out
            if connection.reusable:
                return connection
        try:
            async with asyncio.timeout(self.deadlines.connect):
                _, opened = await asyncio.get_running_loop().create_connection(
                    UpstreamConnection, self.address.host, self.address.port, ssl=self._tls
                )
        except TimeoutError:
            self.reachable = False
            raise UpstreamUnreachable(f"{self.address}: no connection within {self.deadlines.connect:g} s") from None
        except OSError as error:
            self.reachable = False
            raise UpstreamUnreachable(f"{self.address}: {error.strerror or error}") from error
        self.reachable = True
        return opened


class UpstreamReply:
    """An answer whose head has arrived: read it to its end, or discard it with `close`."""

    def __init__(
        self, server: UpstreamServer, connection: UpstreamConnection, status: int, headers: Mapping[bytes, bytes]
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
        """Media type of the body, in lower case and without parameters."""
        return self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()

    async def read(self) -> bytes:
        """Return the next piece of the body, b"" after the last; raise UpstreamFailure."""
        left = self._end_at - asyncio.get_running_loop().time()
        if left <= 0:
            self.close()
            raise UpstreamTimeout(f"the answer was not complete within {self._server.deadlines.total:g} s")
        data = await self._connection.read(min(self._seconds, left))
        self._seconds = self._server.deadlines.gap
        if not data:
            self.close()
        return data

    async def read_all(self, limit_bytes: int = MAX_BODY_BYTES) -> bytes:
        """Return the whole body; raise UpstreamFailure, also if it exceeds the limit."""
        body = bytearray()
        while data := await self.read():
            body += data
            if len(body) > limit_bytes:
                self.close()
                raise BrokenAnswer(f"the answer is larger than {limit_bytes} bytes", begun=True)
        return bytes(body)

    def close(self) -> None:
        """Release the connection; closes it if the answer is unfinished. Repeated calls have no effect."""
        if self._open:
            self._open = False
            self._server.release(self._connection)
