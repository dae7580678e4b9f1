"""Connection: one HTTP/1.1 connection to an upstream, read no faster than its reader reads.

httpx takes several times the processor time for each chunk of a stream (benchmarks/README.md), and a gateway pays it
for every token of every client. What is needed here is little: one POST at a time, an answer that comes in pieces.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, cast

import httptools

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_UNREAD_BYTES: Final = 65_536
"""Body that may wait for its reader; beyond it nothing more is taken from the socket."""

MOST_HEAD_BYTES: Final = 65_536
SWITCHING: Final = 101


class UpstreamFailure(Exception):
    """The upstream could not be asked, or did not answer as HTTP demands. The words are for the operator's log."""


class Unreachable(UpstreamFailure):
    """Nothing was sent: there is no connection."""


class Late(UpstreamFailure):
    """A deadline passed."""


class Dropped(UpstreamFailure):
    """The connection ended before the answer did. begun: whether any byte of the answer had come."""

    def __init__(self, words: str, *, begun: bool) -> None:
        super().__init__(words)
        self.begun = begun


class Stage(Enum):
    """How far the answer to the last request has come. IDLE: there is none, or it was read to its end."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    WHOLE = auto()


class Connection(asyncio.Protocol):
    """One connection. `send` a request, await `head`, then `read` until it gives b""; or `abort` at any time.

    status, headers: of the answer, names in lower case; valid after `head`.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.used = False  # whether an earlier request was answered here
        self._stage = Stage.IDLE
        self._keeps = False  # whether the upstream takes another request
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
        return read and self._keeps and self._failure is None

    def send(self, request: bytes) -> None:
        """Sends a request, head and body, of a connection that is new or reusable."""
        fresh = self._stage is Stage.IDLE and self._parser is None
        if self._transport is None or not (fresh or self.reusable):
            raise self._failure or Unreachable("the connection is closed")
        self.used = self._keeps
        self._stage, self._begun, self._head_bytes, self._keeps = Stage.HEAD, False, 0, False
        self.headers = {}
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(request)

    async def head(self, seconds: float) -> Mapping[bytes, bytes]:
        """The headers of the answer; raises Late and Dropped."""
        while self._stage is Stage.HEAD:
            await self._wait(seconds, "no answer began")
        if self._failure is not None and self._stage is not Stage.WHOLE:
            raise self._failure
        return self.headers

    async def read(self, seconds: float) -> bytes:
        """The next bytes of the body, b"" after the last; raises Late and Dropped."""
        while not self._body:
            if self._stage in (Stage.WHOLE, Stage.IDLE):
                self._stage = Stage.IDLE
                return b""
            if self._failure is not None:
                raise self._failure
            await self._wait(seconds, "the answer stood still")
        data = bytes(self._body)
        self._body.clear()
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    def abort(self) -> None:
        """Ends the connection at once; harmless when repeated."""
        self._fail(Dropped("the gateway left", begun=self._begun))
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
        self._fail(Late(f"{words} within {seconds:g} s"))
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

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are like it, and no subclass of it

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._stage in (Stage.IDLE, Stage.WHOLE):
            self._break("the upstream sent what nobody asked for")
            return
        self._begun = True
        if self._stage is Stage.HEAD:
            self._head_bytes += len(data)  # of the head, and what came in one piece with its end
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._break("the upstream wants to speak another protocol")
        except httptools.HttpParserError as error:
            self._break(f"the upstream does not speak HTTP/1.1: {error}")
        else:
            if self._stage is Stage.HEAD and self._head_bytes > MOST_HEAD_BYTES:
                self._break(f"the head of the upstream's answer has more than {MOST_HEAD_BYTES} bytes")
            elif len(self._body) > MOST_UNREAD_BYTES and not self._paused and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        ends_body = self._stage is Stage.BODY and not {b"content-length", b"transfer-encoding"} & self.headers.keys()
        if ends_body and exc is None and self._failure is None:
            self._stage = Stage.WHOLE
        words = "the upstream closed the connection" if exc is None else f"the connection broke: {exc}"
        self._fail(Dropped(words, begun=self._begun))
        self._transport = None

    def _break(self, words: str) -> None:
        self._fail(Dropped(words, begun=True))
        if self._transport is not None:
            self._transport.abort()

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; of several of one name the last counts, which matters for none that is read here."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """The head is in; an interim answer (RFC 9110, 15.2) is only the beginning of another."""
        if self._parser is None:
            return
        self.status = self._parser.get_status_code()
        if self.status >= 200 or self.status == SWITCHING:
            self._stage = Stage.BODY

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """The answer is whole."""
        if self._parser is not None and self._stage is Stage.BODY:
            self._stage = Stage.WHOLE
            self._keeps = self._parser.should_keep_alive()
        elif self._stage is Stage.HEAD:
            self.headers = {}  # of an interim answer
