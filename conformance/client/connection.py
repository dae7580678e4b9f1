"""One HTTP/1.1 connection to a server, parsed by h11.

No HTTP library is used. Each exchange has its own connection, so the pools, retries and hooks of a library would cost
time in each of a thousand exchanges without any use; and while sixteen answers are timed at the same time, the cost of
one delays the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import h11

from conformance.exchange import SWITCHED

if TYPE_CHECKING:
    import ssl

MAX_HEADER_BYTES: Final = 100 * 1024
"""Longer headers are refused: h11 would search them again with each read."""
PARTS: Final = 3
"""In how many chunks a request body is sent, if it is sent in chunks."""
BETWEEN_PARTS_S: Final = 0.02
"""How long a chunk of a request waits, so that a server cannot read all of them at once."""
MAX_UNREAD_BYTES: Final = 256 * 1024
SERVER_ERROR: Final = 500
"""Received bytes that may wait here before the socket is no longer read."""


@dataclass(frozen=True, slots=True)
class ReceivedHead:
    """The status line and headers of an answer; names and values as they were received."""

    status: int
    reason: bytes
    http_version: str
    headers: tuple[tuple[bytes, bytes], ...]


def is_chunked(request: h11.Request) -> bool:
    """Tell whether the body of a request is sent in chunks."""
    return any(name == b"transfer-encoding" for name, _value in request.headers)


class Connection(asyncio.Protocol):
    """Sends a request and reads its answer piece by piece; can send another one while `reusable`.

    A request that is sent before the connection is open is buffered and goes out as soon as it is open: a task that
    waited for the opening would run only after the tasks of all other exchanges. `send` raises h11.LocalProtocolError
    for a request that is not valid HTTP; `read_head` and `read` raise h11.RemoteProtocolError for an answer that is not
    valid HTTP/1.1, and OSError for a connection that broke. Always call `close` at the end.
    """

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
        self._unread: deque[bytes] = deque()
        self._unread_bytes = 0
        self._received_any = self._follows_failure = False
        self._status = 0
        self._ended = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []

    async def open(self, address: str, port: int, tls: ssl.SSLContext | None, name: str) -> None:
        """Connect to an address. The certificate must be valid for `name`. Raises OSError."""
        loop = asyncio.get_running_loop()
        server_name = None if tls is None else name
        await loop.create_connection(lambda: self, address, port, ssl=tls, server_hostname=server_name)

    @property
    def opened(self) -> bool:
        """Whether the connection has ever been open."""
        return self._transport is not None

    @property
    def was_given_up(self) -> bool:
        """Whether nothing has arrived since the last answer, and that was a failure of the server."""
        return self._follows_failure and not self._received_any

    @property
    def reusable(self) -> bool:
        """Whether the last answer was read to its end and the server has kept the connection open."""
        return not self._ended and (self._http.our_state, self._http.their_state) == (h11.DONE, h11.DONE)

    def send(self, request: h11.Request, body: bytes) -> None:
        """Send a request. Its answer may arrive before all of it is sent."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
            left, _ = self._http.trailing_data
            self._received_any = bool(left or self._unread)  # bytes follow the last answer: no clean end
            self._follows_failure = self._status >= SERVER_ERROR
        head = self._http.send(request) or b""
        size = len(body) // PARTS + 1 if is_chunked(request) else len(body)
        data = [h11.Data(data=body[at : at + size]) for at in range(0, len(body), size or 1)]
        *parts, last = [self._http.send(event) or b"" for event in (*data, h11.EndOfMessage())]
        self._unsent = [head, *parts, last] if len(data) > 1 else [b"".join((head, *parts, last))]
        if self._transport is not None:
            self._write()

    def _write(self) -> None:
        """Write what is not sent yet; of several parts the first, and the others one after another."""
        if self._transport is None or self._transport.is_closing() or not self._unsent:
            return
        self._transport.write(self._unsent.pop(0))
        if self._unsent:
            asyncio.get_running_loop().call_later(BETWEEN_PARTS_S, self._write)

    async def read_head(self) -> ReceivedHead:
        """Wait for the status line and headers of the answer."""
        while True:
            event = await self._next_event()
            if isinstance(event, h11.InformationalResponse) and event.status_code != SWITCHED:
                continue  # 100 or 103: the answer follows. After 101 no HTTP/1.1 answer follows.
            if isinstance(event, (h11.InformationalResponse, h11.Response)):
                self._status = event.status_code
                return ReceivedHead(
                    event.status_code,
                    event.reason,
                    f"HTTP/{event.http_version.decode('latin-1')}",
                    tuple(event.headers.raw_items()),
                )

    async def read(self) -> bytes | None:
        """Return the next piece of the body; None at its end."""
        event = await self._next_event()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    def close(self) -> None:
        """Close the connection at once, also in the middle of an exchange."""
        if self._transport is not None:
            self._transport.abort()

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return cast("h11.Event | type[h11.PAUSED]", event)
            piece = await self._receive()
            if not piece and self._http.their_state is h11.SEND_RESPONSE:
                raise h11.RemoteProtocolError("Server disconnected without sending a response.")
            self._http.receive_data(piece)

    async def _receive(self) -> bytes:
        """Return the bytes of one socket read, b"" at the end. Bytes received before an error are returned first."""
        if not self._unread and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if self._unread:
            piece = self._unread.popleft()
            self._unread_bytes -= len(piece)
            if self._transport is not None and self._unread_bytes <= MAX_UNREAD_BYTES:
                self._transport.resume_reading()
            return piece
        if self._error is not None:
            raise self._error
        return b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Handle the opening of the connection (called by asyncio)."""
        self._transport = cast("asyncio.Transport", transport)
        self._write()

    def data_received(self, data: bytes) -> None:
        """Buffer the bytes of one socket read (called by asyncio)."""
        self._received_any = True
        self._unread.append(data)
        self._unread_bytes += len(data)
        if self._transport is not None and self._unread_bytes > MAX_UNREAD_BYTES:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Note that the server sends no more (called by asyncio)."""
        self._ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Note that the connection is closed, without `error` if the server closed it (called by asyncio)."""
        self._ended = True
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
