"""One HTTP/1.1 connection to an upstream, read only as fast as its consumer reads.

httpx takes several times the processor time for each chunk of a stream (benchmarks/README.md), and a gateway would
spend it for every token of every client. The gateway needs little: one request at a time, and an answer in pieces.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, cast

import httptools

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_UNREAD_BYTES: Final = 65_536
"""Size of the unread body above which reading from the socket pauses."""

MAX_HEAD_BYTES: Final = 65_536
SWITCHING_PROTOCOLS: Final = 101


class UpstreamFailure(Exception):
    """The upstream could not be asked, or did not answer as HTTP requires. The message is for the operator's log.

    The message contains only our own words. quoted: an excerpt of the answer, to be cleaned before it is logged.
    """

    quoted: str = ""


class UpstreamUnreachable(UpstreamFailure):
    """The connection could not be opened, so nothing was sent."""


class UpstreamTimeout(UpstreamFailure):
    """A deadline has passed."""


class BrokenAnswer(UpstreamFailure):
    """The answer broke off or is invalid. begun: whether any byte of it had arrived."""

    def __init__(self, words: str, *, begun: bool, quoted: str = "") -> None:
        super().__init__(words)
        self.begun = begun
        self.quoted = quoted


class Stage(Enum):
    """How much of the answer has arrived; IDLE: no request was sent, or the answer was read to its end."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    WHOLE = auto()


class UpstreamConnection(asyncio.Protocol):
    """One connection. `send` a request, await `head`, then `read` until it returns b""; or `abort` at any time.

    status, headers: of the answer, with names in lower case; valid after `head`.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.used = False  # whether an earlier request was answered on this connection
        self._stage = Stage.IDLE
        self._keeps_alive = False  # whether the upstream takes another request
        self._begun = False
        self._head_bytes = 0
        self._body = bytearray()
        self._paused = False
        self._failure: UpstreamFailure | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent."""
        read = self._stage is Stage.IDLE or (self._stage is Stage.WHOLE and not self._body)
        return read and self._keeps_alive and self._failure is None

    def send(self, request: bytes) -> None:
        """Send a request, head and body, on a connection that is new or reusable."""
        fresh = self._stage is Stage.IDLE and self._parser is None
        if self._transport is None or not (fresh or self.reusable):
            raise self._failure or UpstreamUnreachable("the connection is closed")
        self.used = self._keeps_alive
        self._stage, self._begun, self._head_bytes, self._keeps_alive = Stage.HEAD, False, 0, False
        self.headers = {}
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(request)

    async def head(self, seconds: float) -> Mapping[bytes, bytes]:
        """Return the headers of the answer; raise UpstreamTimeout or BrokenAnswer."""
        while self._stage is Stage.HEAD:
            await self._wait(seconds, "the answer did not begin")
        if self._failure is not None and self._stage is not Stage.WHOLE:
            raise self._failure
        return self.headers

    async def read(self, seconds: float) -> bytes:
        """Return the next bytes of the body, b"" after the last; raise UpstreamTimeout or BrokenAnswer."""
        while not self._body:
            if self._stage in (Stage.WHOLE, Stage.IDLE):
                self._stage = Stage.IDLE
                return b""
            if self._failure is not None:
                raise self._failure
            await self._wait(seconds, "no further data arrived")
        data = bytes(self._body)
        self._body.clear()
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    def abort(self) -> None:
        """Close the connection at once. Repeated calls have no effect."""
        self._fail(BrokenAnswer("the gateway closed the connection", begun=self._begun))
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self, seconds: float, words: str) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiter = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._expire, words, seconds)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _expire(self, words: str, seconds: float) -> None:
        self._fail(UpstreamTimeout(f"{words} within {seconds:g} s"))
        if self._transport is not None:
            self._transport.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, failure: UpstreamFailure) -> None:
        if self._failure is None:
            self._failure = failure
        if self._stage is Stage.HEAD:
            self._stage = Stage.BODY  # no head will come; `head` raises the failure
        self._wake()

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's class has the same methods

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._stage in (Stage.IDLE, Stage.WHOLE):
            self._break("the upstream sent data without a request")
            return
        self._begun = True
        if self._stage is Stage.HEAD:
            self._head_bytes += len(data)  # includes any body data that arrived together with the end of the head
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._break("the upstream switched to another protocol")
        except httptools.HttpParserError as error:
            self._break(f"the upstream's answer is not valid HTTP/1.1: {error}")
        else:
            if self._stage is Stage.HEAD and self._head_bytes > MAX_HEAD_BYTES:
                self._break(f"the head of the upstream's answer is larger than {MAX_HEAD_BYTES} bytes")
            elif len(self._body) > MAX_UNREAD_BYTES and not self._paused and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        ends_body = self._stage is Stage.BODY and not {b"content-length", b"transfer-encoding"} & self.headers.keys()
        if ends_body and exc is None and self._failure is None:
            self._stage = Stage.WHOLE
        words = "the upstream closed the connection" if exc is None else f"the connection failed: {exc}"
        self._fail(BrokenAnswer(words, begun=self._begun))
        self._transport = None

    def _break(self, words: str) -> None:
        self._fail(BrokenAnswer(words, begun=True))
        if self._transport is not None:
            self._transport.abort()

    # Callbacks of the parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header. If a name occurs several times the last value wins; no such header is read here."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Enter the body, unless this is the head of an interim response (RFC 9110, section 15.2)."""
        if self._parser is None:
            return
        self.status = self._parser.get_status_code()
        if self.status >= 200 or self.status == SWITCHING_PROTOCOLS:
            self._stage = Stage.BODY

    def on_body(self, body: bytes) -> None:
        """Store a piece of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Mark the answer as complete, or discard the headers of an interim response."""
        if self._parser is not None and self._stage is Stage.BODY:
            self._stage = Stage.WHOLE
            self._keeps_alive = self._parser.should_keep_alive()
        elif self._stage is Stage.HEAD:
            self.headers = {}
