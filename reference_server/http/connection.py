"""uvicorn's HTTP protocol with limits on what a client may send and on how long it may take.

An ASGI application starts only when the head of a request has been read, so these limits cannot be applied there.
uvicorn has no size limit for the head when it uses httptools, and no timeout except for idle connections.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from reference_server.errors import transport_error_body
from reference_server.http.byte_counts import ByteCounts, ConnectionLimits
from reference_server.http.head import InvalidHead, check_head, content_length
from reference_server.http.transfer import HeldFlow, QuietTransport, UnchunkedSender

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from openapi.contract.contract import ErrorTable
    from reference_server.http.idle_connections import IdleConnections

BACKLOG_BYTES: Final = 65_536
"""Received and not yet parsed bytes of a connection, beyond which nothing more is read from it."""


class Phase(Enum):
    """What a connection is waiting for; ANSWER: the request is complete."""

    REQUEST = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()


class BoundedConnection(HttpToolsProtocol):
    """One connection with limits. A violation is answered with the HTTP status for it, and the connection is closed.

    connections: all open connections of the server.
    errors: error table that gives the envelope of such a response; None: the response is plain text.
    """

    def __init__(
        self,
        *arguments: Any,
        limits: ConnectionLimits,
        connections: IdleConnections,
        errors: ErrorTable | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._connections = connections
        self._errors = errors
        self._limits = limits
        self._phase = Phase.REQUEST
        self._backlog = b""  # received and not yet parsed
        self._counts = ByteCounts(limits)
        self._refused = False  # nothing more is parsed
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        quiet: Any = QuietTransport(transport)
        super().connection_made(quiet)
        self.flow = self._flow = HeldFlow(quiet)
        self._connections.add(self, transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter(Phase.REQUEST)
        self._backlog = b""
        self._refused = True
        self._connections.remove(self)
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._counts.add(len(data), in_body=True)
            if self._counts.excess(in_body=True):
                self.transport.abort()
            return
        self._unset_keepalive_if_required()
        if not self._is_answering():
            self._connections.mark_idle(self)
        self._backlog += data
        self._parse()

    def _parse(self) -> None:
        """Parse what was received, except what follows a request that waits for an earlier one."""
        if self._backlog and self._phase is Phase.REQUEST:
            self._begin_head()
        data, at = self._backlog, 0
        while at < len(data) and not self.pipeline and not self._refused:
            in_body = self._phase is Phase.BODY
            piece = data[at : at + self._counts.piece_bytes(in_body=in_body)]
            at += len(piece)
            self._counts.add(len(piece), in_body=in_body)
            self._feed(piece)
            excess = self._counts.excess(in_body=self._phase is Phase.BODY)
            if excess and not self._refused:
                self._refuse(*excess)
        self._backlog = b"" if self._refused else data[at:]
        was_held, self._flow.held = self._flow.held, len(self._backlog) > BACKLOG_BYTES
        if self._flow.held:
            self._flow.pause_reading()
        elif was_held:
            self._flow.resume_reading()

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
        check_head(self.parser.get_http_version(), self.headers)
        super().on_headers_complete()
        self._counts.begin_body(content_length(self.headers))
        self._await_body()
        if self.scope["http_version"] == "1.0":
            self.cycle.send = UnchunkedSender(self.cycle)  # type: ignore[method-assign]

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase is not Phase.BODY:  # trailers are not kept
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._counts.add_content(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._offers_upgrade():
            return
        self._counts.begin_head()
        self._enter(Phase.ANSWER)
        self._connections.mark_busy(self)
        super().on_message_complete()
        if self.cycle.response_complete:  # the request was refused before it was complete
            self._await_request()

    def on_response_complete(self) -> None:
        if self._phase is Phase.ANSWER:  # otherwise the rest of the body is still to come
            self._await_request()
        waited = bool(self.pipeline)
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if waited and self._phase is Phase.HEAD:
            self._await_head()
        elif waited and self._phase is Phase.BODY:
            self._await_body()
        if not self._is_answering():
            self._connections.mark_idle(self)
        self._parse()

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
        self._counts.begin_head()
        self._await_head()

    def _await_head(self) -> None:
        self._enter(Phase.HEAD, self._limits.head_s, self._time_out)

    def _await_body(self) -> None:
        self._enter(Phase.BODY, self._limits.body_s, self._time_out)

    def _enter(self, phase: Phase, seconds: float = 0, expire: Callable[[], None] | None = None) -> None:
        """Enter a phase; `expire` is called if the phase lasts longer than `seconds`."""
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if expire is None else self.loop.call_later(seconds, expire)

    def _time_out(self) -> None:
        if self._is_answering():
            self._deadline = self.loop.call_later(self._limits.head_s, self._time_out)
        else:
            self._refuse(408, "the request did not arrive in time")

    def _is_answering(self) -> bool:
        """Whether a complete request is being answered, so that nothing else may be written."""
        if self._phase is Phase.BODY:
            return bool(self.pipeline)
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, status: int, message: str) -> None:
        """End the connection, with a response if no other response has begun."""
        self._refused = True
        if self._phase is not Phase.BODY and self._is_answering():
            self.cycle.keep_alive = False  # close the connection after the response to the last complete request
            return
        if self._phase is Phase.BODY and (self.pipeline or self.cycle.response_started):
            self.transport.close()
            return
        kind = "text/plain; charset=utf-8" if self._errors is None else "application/json"
        body = message.encode() if self._errors is None else transport_error_body(self._errors, status, message)
        always = b"".join(name + b": " + value + b"\r\n" for name, value in self.server_state.default_headers)
        head = f"content-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + always + head.encode() + body)
        self.transport.close()
