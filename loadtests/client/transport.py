"""Send requests over connections of its own, and read the answers in the event loop's callback.

A greenlet that reads is woken after the loop has served every other greenlet, and would record the time of its turn
as the time of arrival. Here the loop's callback reads (`event_loop`), and the bytes carry the kernel's receive time.
"""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import gevent

from loadtests.client.answer import Answer
from loadtests.client.answer_parser import AnswerParser
from loadtests.client.connection import TimedConnection
from loadtests.client.sse_scan import ContentPatterns
from loadtests.client.stream_reader import StreamReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadtests.client.event_loop import EventLoop
    from openapi.extra_headers import ExtraHeader

CONNECT_S: Final = 10.0
LARGE_BYTES: Final = 65_536
"""Requests from this size on have an upload time; smaller ones fit into a buffer of the kernel."""
UNSENT_BYTES: Final = 16_384
"""What the kernel may hold of such a request without having sent it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go: host, port, path, and the TLS context for https."""

    host: str
    port: int
    path: str
    tls: ssl.SSLContext | None = None

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


class Caller:
    """Sends one request after another to an endpoint, over a connection that is kept while the server allows it."""

    def __init__(
        self,
        endpoint: Endpoint,
        event_loop: EventLoop,
        *,
        headers: Sequence[ExtraHeader] = (),
        deadline_s: float = 120.0,
    ) -> None:
        self._endpoint = endpoint
        self._event_loop = event_loop
        self._ack_policy = event_loop.delayed_acks[endpoint.authority]
        self._deadline_s = deadline_s
        self._patterns = ContentPatterns()
        self._connection: TimedConnection | None = None
        self._head = _request_head(endpoint, headers)
        self._answer: Answer | None = None
        self._reader: StreamReader | None = None

    @property
    def answer(self) -> Answer | None:
        """The answer in flight, with everything that has arrived; None between two requests."""
        if self._reader is not None:
            self._reader.flush()
        return self._answer

    def call(self, body: bytes, intended_ns: int, *, streamed: bool = True, sampled: bool = False) -> Answer:
        """Send a request and wait for its whole answer, at most until the deadline. Never raise for the server.

        If the server has closed a kept connection in the meantime, that is not a failure: the request is sent again.
        """
        request = self._head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        kept = self._connection is not None
        try:
            answer = self._answer = Answer(intended_ns)
            self._exchange(request, answer, streamed, sampled)
            if kept and answer.failure == "no-answer":
                answer = self._answer = Answer(intended_ns)
                self._exchange(request, answer, streamed, sampled)
        finally:
            self._answer = None
        return answer

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _exchange(self, request: bytes, answer: Answer, streamed: bool, sampled: bool) -> None:
        connection = self._connect(answer)
        if connection is None:
            return
        held = self._event_loop.held
        parser = AnswerParser(answer, streamed=streamed, sampled=sampled, patterns=self._patterns, held=held)
        reader = self._reader = StreamReader(connection, parser, self._event_loop, self._ack_policy)
        deadline, sent = gevent.get_hub().loop.timer(self._deadline_s), False  # cheaper than gevent.Timeout
        try:
            answer.sent_ns = time.monotonic_ns()
            deadline.start(reader.expire, self._deadline_s)
            if len(request) >= LARGE_BYTES:
                connection.limit_unsent(UNSENT_BYTES)
            connection.send(request)
            if len(request) >= LARGE_BYTES:
                answer.uploaded_ns = time.monotonic_ns()
            sent = True
            reader.ended.get()
        except OSError as error:
            if not parser.finished:  # else the server refused the request before all of it was sent
                reader.handle_error(error)
        finally:
            deadline.stop()
            deadline.close()
            reader.stop()
            parser.release()
            self._reader = None
            if not (sent and parser.reusable):
                self.close()

    def _connect(self, answer: Answer) -> TimedConnection | None:
        if self._connection is not None:
            return self._connection
        began_ns = time.monotonic_ns()
        endpoint, clock = self._endpoint, self._event_loop.clock
        try:
            self._connection = TimedConnection(endpoint.host, endpoint.port, clock, endpoint.tls, CONNECT_S)
        except OSError as error:
            answer.sent_ns, answer.ended_ns = began_ns, time.monotonic_ns()
            answer.failure = "tls" if isinstance(error, ssl.SSLError) else "connect"
            answer.detail = str(error) or type(error).__name__
            return None
        answer.connect_ns = time.monotonic_ns() - began_ns
        return self._connection


def _request_head(endpoint: Endpoint, headers: Sequence[ExtraHeader]) -> bytes:
    lines = [
        f"POST {endpoint.path} HTTP/1.1",
        f"Host: {endpoint.authority}",
        "Content-Type: application/json",
        "Accept: text/event-stream, application/json",
        "Accept-Encoding: identity",  # events inside a compressed stream have no times of their own
        *(() if any(header.name.lower() == "user-agent" for header in headers) else ("User-Agent: chatproof",)),
        *(f"{header.name}: {header.value}" for header in headers),
    ]
    return ("\r\n".join(lines) + "\r\n").encode()
