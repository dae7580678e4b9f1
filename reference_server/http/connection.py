"""uvicorn's HTTP protocol with limits on what a client may send and on how long it may take.

An ASGI application starts only when the head of a request has been read, so these limits cannot be applied there.
uvicorn has no size limit for the head when it uses httptools, and no timeout except for idle connections.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from reference_server.errors import transport_error_body

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn._types import ASGISendEvent
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from openapi.contract.contract import ErrorTable

HEAD_END: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one connection.

    head_bytes: maximum size of the request line and the headers together.
    head_s: maximum time from the first byte of a request to the end of its head.
    body_s: maximum time from the end of the head to the end of the body.
    unread_s: maximum time that a response may wait for a client that does not read.
    idle_s: how long a connection may stay open without a request. It is longer than clients keep idle connections, so
        that no client sends a request on a connection that the server is closing.
    """

    head_bytes: int = 65_536
    head_s: float = 10.0
    body_s: float = 60.0
    unread_s: float = 60.0
    idle_s: float = 75.0


class Phase(Enum):
    """What a connection is waiting for; ANSWER: the request is complete."""

    REQUEST = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()


class InvalidHead(Exception):
    """A request head that ends the connection. args: status, message."""


class BoundedConnection(HttpToolsProtocol):
    """One connection with limits. A violation is answered with the HTTP status for it, and the connection is closed.

    errors: error table that gives the envelope of such a response; None: the response is plain text.
    """

    def __init__(
        self, *arguments: Any, limits: ConnectionLimits, errors: ErrorTable | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._errors = errors
        self._limits = limits
        self._phase = Phase.REQUEST
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter(Phase.REQUEST)
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._phase is Phase.REQUEST:
            self._begin_head()
        if self._phase is Phase.HEAD:
            end = data.find(HEAD_END)
            self._head_bytes += len(data) if end < 0 else end
            if self._head_bytes > self._limits.head_bytes:
                self._refuse(431, f"the request head is larger than {self._limits.head_bytes} bytes: shorten it")
                return
        self._unset_keepalive_if_required()
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, InvalidHead):
                self._refuse(*error.__context__.args)
            else:
                self._refuse(400, "invalid HTTP request")
        except httptools.HttpParserUpgrade as offer:
            if self._offers_upgrade():
                self._ignore_upgrade(data[offer.args[0] :])

    def _offers_upgrade(self) -> bool:
        """Whether the request offers another protocol. CONNECT demands one, and the application refuses it."""
        return bool(self.parser.should_upgrade()) and self.parser.get_method() != b"CONNECT"

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Parse the request again without its Upgrade header: its head, then the `rest` of the data.

        RFC 9110, section 7.8, allows a server to ignore the offer. Java's HTTP client makes it with every request, and
        httptools would take the body for data of the other protocol.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        kept = [name + b": " + value + b"\r\n" for name, value in self.headers if name != b"upgrade"]
        head = b"%s %s HTTP/%s\r\n%s\r\n" % (method, self.url, version, b"".join(kept))
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._feed(head + rest)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._phase is not Phase.HEAD:  # this request arrived in one piece with the end of the previous one
            self._begin_head()

    def on_headers_complete(self) -> None:
        if self._offers_upgrade():
            return
        self._check_head()
        self._enter(Phase.BODY, self._limits.body_s, self._time_out)
        super().on_headers_complete()
        if self.scope["http_version"] == "1.0":
            self.cycle.send = UnchunkedSender(self.cycle)  # type: ignore[method-assign]

    def _check_head(self) -> None:
        """Raise InvalidHead for a head that httptools accepts and HTTP/1.1 does not: RFC 9112, sections 2.3 and 3.2."""
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise InvalidHead(505, "unsupported HTTP version: expected HTTP/1.1")
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and version == "1.1"):
            raise InvalidHead(400, f"invalid number of Host headers: expected 1, got {hosts}")

    def on_message_complete(self) -> None:
        if self._offers_upgrade():
            return
        self._enter(Phase.ANSWER)
        super().on_message_complete()
        if self.cycle.response_complete:  # the request was refused before it was complete
            self._await_request()

    def on_response_complete(self) -> None:
        if self._phase is Phase.ANSWER:  # otherwise the rest of the body is still to come
            self._await_request()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self._limits.unread_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _await_request(self) -> None:
        self._enter(Phase.REQUEST, self._limits.idle_s, self._close_idle)

    def _close_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # not while a pipelined request is being answered
            self.transport.close()

    def _begin_head(self) -> None:
        self._head_bytes = 0
        self._enter(Phase.HEAD, self._limits.head_s, self._time_out)

    def _enter(self, phase: Phase, seconds: float = 0, expire: Callable[[], None] | None = None) -> None:
        """Enter a phase; `expire` is called if the phase lasts longer than `seconds`."""
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if expire is None else self.loop.call_later(seconds, expire)

    def _time_out(self) -> None:
        if self._is_answering_earlier_request():
            self._deadline = self.loop.call_later(self._limits.head_s, self._time_out)
        elif self._phase is Phase.BODY and self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(408, "the request did not arrive in time")

    def _is_answering_earlier_request(self) -> bool:
        """Whether an earlier request is being answered while this one arrives, so that nothing else may be written."""
        if self._phase is Phase.HEAD:
            return self.cycle is not None and not self.cycle.response_complete
        return bool(self.pipeline)

    def _refuse(self, status: int, message: str) -> None:
        if self._is_answering_earlier_request():
            if self._phase is Phase.HEAD:  # close the connection after the response to the last complete request
                self.cycle.keep_alive = False
            else:
                self.transport.close()
            return
        kind = "text/plain; charset=utf-8" if self._errors is None else "application/json"
        body = message.encode() if self._errors is None else transport_error_body(self._errors, status, message)
        always = b"".join(name + b": " + value + b"\r\n" for name, value in self.server_state.default_headers)
        head = f"content-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + always + head.encode() + body)
        self.transport.close()


class UnchunkedSender:
    """Sends the response to an HTTP/1.0 request, where chunked encoding does not exist.

    Without a length, the end of the connection ends the response. uvicorn uses chunked encoding for any version, which
    RFC 9112, section 6.1, forbids.
    """

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._send = cycle.send
        self._sized = True

    async def __call__(self, message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start":
            self._sized = any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
            if not self._sized:
                self._cycle.chunked_encoding = False
        elif message["type"] == "http.response.body" and not self._sized:
            self._cycle.expected_content_length = len(message.get("body", b""))
        await self._send(message)
