"""The transport: requests over connections of its own, answers read inside the event loop's callback.

A greenlet that reads is woken after the loop has served everybody else, and what it takes for the time of arrival is
the time of its turn. Here the loop's callback reads, and the bytes carry the kernel's time.
"""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import gevent
from gevent.event import AsyncResult

from loadtests.client.answer import Answer
from loadtests.client.connection import READ_BYTES, Wire
from loadtests.client.sse_scan import Marks
from loadtests.client.stream_reader import Incoming

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadtests.client.delayed_ack import Receipts
    from loadtests.client.event_loop import Inbox
    from openapi.extra_headers import Header

CONNECT_S: Final = 10.0
SMALL_BYTES: Final = 479
"""What a read asks for while events are small: the most that Python itself allocates, which costs half as much."""
LOOKED_AT: Final = 8
"""Reads with receipts held back after which it is told whether the server waited for them."""


@dataclass(frozen=True, slots=True)
class Origin:
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
    """Sends one request after another to one origin, over a connection that is kept while the server allows it."""

    def __init__(
        self, origin: Origin, inbox: Inbox, *, headers: Sequence[Header] = (), deadline_s: float = 120.0
    ) -> None:
        self._origin = origin
        self._inbox = inbox
        self._receipts = inbox.receipts[origin.authority]
        self._deadline_s = deadline_s
        self._marks = Marks()
        self._wire: Wire | None = None
        self._head = _head(origin, headers)
        self._answer: Answer | None = None
        self._reading: _Reading | None = None

    @property
    def answer(self) -> Answer | None:
        """What is on its way, with all that has come of it; None between two calls."""
        if self._reading is not None:
            self._reading.settle()
        return self._answer

    def call(self, body: bytes, intended_ns: int, *, streamed: bool = True, sampled: bool = False) -> Answer:
        """Sends `body` and waits for the whole answer, at most until the deadline. Never raises for the server.

        A kept connection that the server had closed meanwhile is no failure of its: the request is sent anew.
        """
        request = self._head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        kept = self._wire is not None
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
        """Closes the connection."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _exchange(self, request: bytes, answer: Answer, streamed: bool, sampled: bool) -> None:
        wire = self._connected(answer)
        if wire is None:
            return
        incoming = Incoming(answer, streamed=streamed, sampled=sampled, pace=self._inbox.pace, marks=self._marks)
        reading = self._reading = _Reading(wire, incoming, self._inbox, self._receipts)
        deadline, out = gevent.get_hub().loop.timer(self._deadline_s), False  # what a gevent.Timeout does, and no more
        try:
            answer.sent_ns = time.monotonic_ns()
            deadline.start(reading.expire, self._deadline_s)
            wire.send(request)
            out = True
            reading.ended.get()
        except OSError as error:
            if not incoming.finished:  # else a refusal came before the request was out
                incoming.cut(str(error) or type(error).__name__, time.monotonic_ns())
        finally:
            deadline.stop()
            deadline.close()
            reading.stop()
            self._reading = None
            if not (out and incoming.reusable):
                self.close()

    def _connected(self, answer: Answer) -> Wire | None:
        if self._wire is not None:
            return self._wire
        began_ns = time.monotonic_ns()
        try:
            self._wire = Wire(self._origin.host, self._origin.port, self._inbox.clock, self._origin.tls, CONNECT_S)
        except OSError as error:
            answer.sent_ns, answer.ended_ns = began_ns, time.monotonic_ns()
            answer.failure = "tls" if isinstance(error, ssl.SSLError) else "connect"
            answer.detail = str(error) or type(error).__name__
            return None
        answer.connect_ns = time.monotonic_ns() - began_ns
        return self._wire


class _Reading:
    """Watches a wire and feeds what comes, in the loop's callback; `ended` is set at the end of the answer."""

    __slots__ = (
        "_descriptor",
        "_held_since",
        "_inbox",
        "_incoming",
        "_receipts",
        "_receive",
        "_shelved",
        "_size",
        "_take",
        "_wire",
        "ended",
    )

    def __init__(self, wire: Wire, incoming: Incoming, inbox: Inbox, receipts: Receipts) -> None:
        self.ended: AsyncResult[None] = AsyncResult()
        self._wire = wire
        self._receive = wire.read
        self._take = incoming.feed_at
        self._incoming = incoming
        self._inbox = inbox
        self._receipts: Receipts | None = receipts  # None: this stream has told what it can tell
        self._held_since = 0  # how many reads with content had come when receipts were held back; 0: they are not
        self._size = 0
        self._shelved = (0, 0)  # size and number of reads of the shelf that the inbox has
        self._descriptor = wire.fileno()
        inbox.watch(self._descriptor, self._read)

    def settle(self) -> None:
        """Takes what was put by."""
        if self._incoming.settle():
            self._end()
        elif self._size:
            self._put_by()

    def stop(self) -> None:
        """Watches no longer."""
        self._inbox.forget(self._descriptor)
        if self._receipts is not None and self._held_since:
            self._receipts.gave_up()

    def take(self, data: bytes, at_ns: int) -> None:
        """Takes what one read brought, nothing if it was the end of the connection."""
        if not data:
            self._incoming.cut("the server ended the connection", at_ns)
            self._end()
        elif self._take(data, at_ns):
            self._end()
        elif len(data) >= READ_BYTES:  # as much as comes is read at once then
            self._size = 0
            self._shelved = (0, 0)
            self._inbox.put_by(self._descriptor, None)
        elif self._incoming.holds and (not self._size or len(data) == self._size):
            self._size = SMALL_BYTES if len(data) < SMALL_BYTES * 3 // 4 else READ_BYTES
            self._put_by()

    def fail(self, error: OSError) -> None:
        """Hears why nothing could be read."""
        if not isinstance(error, BlockingIOError):
            self._incoming.cut(str(error) or type(error).__name__, time.monotonic_ns())
            self._end()

    def expire(self, deadline_s: float) -> None:
        """The time for the answer is over, and so it is for a request that is not out yet."""
        self._wire.give_up()
        if not self.ended.ready():
            self._incoming.fail("timeout", f"no end after {deadline_s:g} s", time.monotonic_ns())
            self._end()

    def _put_by(self) -> None:
        """Lets the inbox put reads by from now on."""
        incoming, receive = self._incoming, self._wire.plain_reader
        if receive is not None:
            self._look_at_receipts()
            self.spare_receipts()
            trial = self._held_since and self._receipts is not None
            most = LOOKED_AT if trial else incoming.most_held
            if (self._size, most) != self._shelved:
                self._shelved = (self._size, most)
                shelf = (receive, self._size, incoming.held, incoming.held_ns, most, self)
                self._inbox.put_by(self._descriptor, shelf)

    def spare_receipts(self) -> None:
        """Holds receipts back from now on, while reads are many, unless the server may be waiting for them."""
        receipts, incoming = self._receipts, self._incoming
        if receipts is not None and not self._held_since and self._inbox.waits and receipts.may_begin():
            self._wire.hold_receipts()
            self._held_since = len(incoming.answer.stamps_ns) + len(incoming.held)

    def _look_at_receipts(self) -> None:
        """Tells, once, whether the server waited for them. With the first proof that it does not, all streams that
        are running hold theirs back.
        """
        receipts, since, stamps_ns = self._receipts, self._held_since, self._incoming.answer.stamps_ns
        if receipts is not None and since and len(stamps_ns) >= since + LOOKED_AT:
            self._receipts = None
            if receipts.saw(stamps_ns[since - 1 : since + LOOKED_AT]):
                for reading in self._inbox.readings():
                    reading.spare_receipts()

    def _read(self) -> None:
        try:
            data, at_ns = self._receive()
        except OSError as error:
            self.fail(error)
            return
        self.take(data, at_ns)

    def _end(self) -> None:
        if not self.ended.ready():
            self._inbox.forget(self._descriptor)
            self._inbox.pace.ended()
            self.ended.set(None)


def _head(origin: Origin, headers: Sequence[Header]) -> bytes:
    lines = [
        f"POST {origin.path} HTTP/1.1",
        f"Host: {origin.authority}",
        "Content-Type: application/json",
        "Accept: text/event-stream, application/json",
        "Accept-Encoding: identity",  # events inside a compressed stream have no times of their own
        *(() if any(header.name.lower() == "user-agent" for header in headers) else ("User-Agent: chatproof",)),
        *(f"{header.name}: {header.value}" for header in headers),
    ]
    return ("\r\n".join(lines) + "\r\n").encode()
