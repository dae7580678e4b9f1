"""Connection: uvicorn's HTTP protocol with bounds on what a client may send, and on how long it may take.

ASGI begins when a head has been read, so none of this can be done in the application. uvicorn itself has no limit for
the head with httptools, and no deadline but that of an idle connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from reference_server.errors import transport_refusal

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn._types import ASGISendEvent
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from openapi.contract.contract import ErrorTable

HEAD_END: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one connection.

    head_bytes: request line and headers together. head_s: from the first byte of a request to the end of its head.
    body_s: from there to the end of its body. unread_s: how long the answer may wait for a client that does not read.
    idle_s: how long a connection may stay open without a request: longer than clients keep theirs, so that none meets
        one that is just closing.
    """

    head_bytes: int = 65_536
    head_s: float = 10.0
    body_s: float = 60.0
    unread_s: float = 60.0
    idle_s: float = 75.0


class Phase(Enum):
    """What a connection is waiting for. ANSWER: the request is in."""

    REQUEST = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()


class Unheard(Exception):
    """A head that ends the connection. args: status, message."""


class BoundedConnection(HttpToolsProtocol):
    """One connection within Limits. What goes beyond them is refused by HTTP's own status, and the connection ends.

    errors: the dialect's envelope, in which such a refusal comes too; None: it is plain text.
    """

    def __init__(self, *arguments: Any, limits: Limits, errors: ErrorTable | None = None, **options: Any) -> None:
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
                self._refuse(431, f"the head of a request has at most {self._limits.head_bytes} bytes")
                return
        self._unset_keepalive_if_required()
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, Unheard):
                self._refuse(*error.__context__.args)
            else:
                self._refuse(400, "this is no request that HTTP knows")
        except httptools.HttpParserUpgrade as offer:
            if self._offers_another():
                self._stay_with_http(data[offer.args[0] :])

    def _offers_another(self) -> bool:
        """Whether the request offers another protocol. CONNECT demands one, which the application refuses."""
        return bool(self.parser.should_upgrade()) and self.parser.get_method() != b"CONNECT"

    def _stay_with_http(self, rest: bytes) -> None:
        """Reads a request again, from its head and the `rest` behind it, as if it offered no other protocol.

        RFC 9110, section 7.8, lets a server ignore the offer. Java's own client makes it with every request, and
        httptools would take the body for the other protocol.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        kept = [name + b": " + value + b"\r\n" for name, value in self.headers if name != b"upgrade"]
        head = b"%s %s HTTP/%s\r\n%s\r\n" % (method, self.url, version, b"".join(kept))
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._feed(head + rest)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._phase is not Phase.HEAD:  # the next request came in one piece with the end of another
            self._begin_head()

    def on_headers_complete(self) -> None:
        if self._offers_another():
            return
        self._check_head()
        self._enter(Phase.BODY, self._limits.body_s, self._late)
        super().on_headers_complete()
        if self.scope["http_version"] == "1.0":
            self.cycle.send = Unchunked(self.cycle)  # type: ignore[method-assign]

    def _check_head(self) -> None:
        """Raises Unheard for a head that the parser takes and HTTP/1.1 does not: RFC 9112, sections 2.3 and 3.2."""
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise Unheard(505, "this server speaks HTTP/1.1: send that")
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and version == "1.1"):
            raise Unheard(400, f"a request names its host once, and this one {hosts} times: send one header Host")

    def on_message_complete(self) -> None:
        if self._offers_another():
            return
        self._enter(Phase.ANSWER)
        super().on_message_complete()
        if self.cycle.response_complete:  # it was refused before it was in
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
        self._enter(Phase.REQUEST, self._limits.idle_s, self._idle)

    def _idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # not while a request that was sent ahead is answered
            self.transport.close()

    def _begin_head(self) -> None:
        self._head_bytes = 0
        self._enter(Phase.HEAD, self._limits.head_s, self._late)

    def _enter(self, phase: Phase, seconds: float = 0, expire: Callable[[], None] | None = None) -> None:
        """Goes on to a phase; `expire` is called where it lasts so many seconds."""
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if expire is None else self.loop.call_later(seconds, expire)

    def _late(self) -> None:
        if self._answers_another():
            self._deadline = self.loop.call_later(self._limits.head_s, self._late)
        elif self._phase is Phase.BODY and self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(408, "the request did not arrive in time")

    def _answers_another(self) -> bool:
        """Whether a request is being answered while this one arrives: then nothing may be written in between."""
        if self._phase is Phase.HEAD:
            return self.cycle is not None and not self.cycle.response_complete
        return bool(self.pipeline)

    def _refuse(self, status: int, message: str) -> None:
        if self._answers_another():
            if self._phase is Phase.HEAD:  # the connection ends with the last answer to what came whole
                self.cycle.keep_alive = False
            else:
                self.transport.close()
            return
        kind = "text/plain; charset=utf-8" if self._errors is None else "application/json"
        body = message.encode() if self._errors is None else transport_refusal(self._errors, status, message)
        always = b"".join(name + b": " + value + b"\r\n" for name, value in self.server_state.default_headers)
        head = f"content-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + always + head.encode() + body)
        self.transport.close()


class Unchunked:
    """Sends the answer to a request of HTTP/1.0, which knows no chunks: without a length it ends with the connection.

    uvicorn sends such an answer in chunks to any version, which RFC 9112, section 6.1, forbids.
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
