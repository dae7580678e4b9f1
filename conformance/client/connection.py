"""Connection: one HTTP/1.1 connection to a server, as h11 reads it; no more than the client needs.

No HTTP library is used: each exchange has a connection of its own, so the pools, retries and hooks of a library would
cost time in each of a thousand exchanges and be of no use; and while sixteen answers are timed side by side, what one
of them costs delays the others.
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
"""Longer ones are refused: h11 would search them again with each piece that comes."""
MAX_WAITING_BYTES: Final = 256 * 1024
"""What may lie here unread before the server is kept waiting."""


@dataclass(frozen=True, slots=True)
class Head:
    """What comes before the body of an answer; names and values as they came."""

    status: int
    reason: bytes
    http_version: str
    headers: tuple[tuple[bytes, bytes], ...]


class Connection(asyncio.Protocol):
    """Sends a request and gives its answer piece by piece; then another one, where `reusable`.

    A request that is given before the connection is open is kept and goes out as soon as it is; a task that waited for
    the opening would have its turn only after the tasks of all other exchanges. `send` raises h11.LocalProtocolError
    for a request that cannot be sent, `head` and `read` h11.RemoteProtocolError for what is no HTTP/1.1 and OSError for
    a connection that broke. Whatever happens, `close`.
    """

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
        self._pieces: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._ended = False
        self._broken: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._unsent = b""

    async def open(self, address: str, port: int, tls: ssl.SSLContext | None, name: str) -> None:
        """Connects to an address; `name` is whom its certificate must be for. Raises OSError."""
        loop = asyncio.get_running_loop()
        server_name = None if tls is None else name
        await loop.create_connection(lambda: self, address, port, ssl=tls, server_hostname=server_name)

    @property
    def opened(self) -> bool:
        """Whether it was connected, ever."""
        return self._transport is not None

    @property
    def reusable(self) -> bool:
        """Whether the last answer was read to its end and the server has kept the connection open."""
        return not self._ended and (self._http.our_state, self._http.their_state) == (h11.DONE, h11.DONE)

    def send(self, request: h11.Request, body: bytes) -> None:
        """Sends a request, whose answer may come before all of it is sent."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        events: list[h11.Event] = [request, h11.Data(data=body), h11.EndOfMessage()]
        self._unsent = b"".join(self._http.send(event) or b"" for event in events)
        if self._transport is not None:
            self._transport.write(self._unsent)

    async def head(self) -> Head:
        """The head of the answer, once it is here."""
        while True:
            event = await self._event()
            if isinstance(event, h11.InformationalResponse) and event.status_code != SWITCHED:
                continue  # 100 or 103, and the answer is still to come; behind 101 there is none in HTTP/1.1
            if isinstance(event, (h11.InformationalResponse, h11.Response)):
                return Head(
                    event.status_code,
                    event.reason,
                    f"HTTP/{event.http_version.decode('latin-1')}",
                    tuple(event.headers.raw_items()),
                )

    async def read(self) -> bytes | None:
        """The next piece of the body; None at its end."""
        event = await self._event()
        return bytes(event.data) if isinstance(event, h11.Data) else None

    def close(self) -> None:
        """Leaves at once, whatever is still under way."""
        if self._transport is not None:
            self._transport.abort()

    async def _event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return cast("h11.Event | type[h11.PAUSED]", event)
            piece = await self._receive()
            if not piece and self._http.their_state is h11.SEND_RESPONSE:
                raise h11.RemoteProtocolError("Server disconnected without sending a response.")
            self._http.receive_data(piece)

    async def _receive(self) -> bytes:
        """What came in one read of the socket; nothing at the end. What came before a break is read before it."""
        if not self._pieces and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if self._pieces:
            piece = self._pieces.popleft()
            self._waiting_bytes -= len(piece)
            if self._transport is not None and self._waiting_bytes <= MAX_WAITING_BYTES:
                self._transport.resume_reading()
            return piece
        if self._broken is not None:
            raise self._broken
        return b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio's: connected."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._unsent)

    def data_received(self, data: bytes) -> None:
        """asyncio's: one read of the socket."""
        self._pieces.append(data)
        self._waiting_bytes += len(data)
        if self._transport is not None and self._waiting_bytes > MAX_WAITING_BYTES:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """asyncio's: the server sends no more."""
        self._ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """asyncio's: closed, by the server where there is no error."""
        self._ended = True
        self._broken = error
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
