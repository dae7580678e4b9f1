"""Serve streams on a known schedule, and report when each event was actually sent.

The server is one thread with epoll and a timerfd; it spins for some microseconds before an event is due. `GET /truth`
returns the times of all streams since `POST /reset`, in nanoseconds of CLOCK_MONOTONIC, which all processes of a
machine share, with the `user` of the request, so that each stream can be compared with its own times. A request
counts as read when the kernel received it: the time until this process runs is not an error of the client. Linux
only. Run it with `python -m loadtests.calibrate.schedule_server [PORT]`; it prints its URL.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import heapq
import json
import os
import select
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Final

from loadtests.calibrate.schedule import Schedule
from loadtests.client.clock import Clock
from loadtests.client.connection import ANCILLARY_BYTES, SO_TIMESTAMPNS, TIMESPEC

SPIN_NS: Final = 30_000
EARLY_NS: Final = 10_000
CLOCK_MONOTONIC: Final = 1
NONBLOCK: Final = 0o4000
ABSOLUTE: Final = 1
PROMPT_TOKENS: Final = 16
BATCH: Final = 256

_ENVELOPE: Final = (
    b'{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1766000000,"model":"schedule",'
)
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def _framed(data: bytes) -> bytes:
    event = b"data: " + data + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(event), event)


_ROLE: Final = _framed(
    _ENVELOPE + b'"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}'
)
_CONTENT: Final = _framed(_ENVELOPE + b'"choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}')
_FINISH: Final = _framed(_ENVELOPE + b'"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}')


def _end(count: int) -> bytes:
    usage = b'"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}' % (
        PROMPT_TOKENS,
        count,
        PROMPT_TOKENS + count,
    )
    return _FINISH + _framed(_ENVELOPE + usage) + _framed(b"[DONE]") + b"0\r\n\r\n"


@dataclass(slots=True)
class _Stream:
    """A stream: when its request was read, when the next event is due, and when its events were sent."""

    connection: _Connection
    schedule: Schedule
    user: str
    read_ns: int
    due_ns: int
    sent_ns: list[int] = field(default_factory=list)


class _Connection:
    """A client: the bytes read so far, and the bytes that the kernel has not accepted yet."""

    __slots__ = ("closed", "peer", "read_ns", "received", "unsent")

    def __init__(self, peer: socket.socket) -> None:
        self.peer = peer
        self.read_ns = 0
        self.received = b""
        self.unsent = b""
        self.closed = False


class _Timer:
    """A timerfd; os.timerfd_create exists only since Python 3.13."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self._libc.timerfd_create(CLOCK_MONOTONIC, NONBLOCK)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._armed_ns = 0

    def arm(self, at_ns: int) -> None:
        """Make the descriptor readable at a monotonic time."""
        if at_ns != self._armed_ns:
            self._armed_ns = at_ns
            when = (ctypes.c_long * 4)(0, 0, *divmod(at_ns, 1_000_000_000))
            self._libc.timerfd_settime(self.descriptor, ABSOLUTE, when, None)

    def read(self) -> None:
        """Make the descriptor unreadable again."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 8)


class ScheduleServer:
    """Serves on a loopback port until the process ends."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port), backlog=2048)
        self._listener.setblocking(False)
        self._timer = _Timer()
        self._poll = select.epoll()
        for descriptor in (self._listener.fileno(), self._timer.descriptor):
            self._poll.register(descriptor, select.EPOLLIN)
        self._connections: dict[int, _Connection] = {}
        self._due: list[tuple[int, int, _Stream]] = []
        self._order = 0
        self._clock = Clock()
        self._truth: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """The URL of the server."""
        host, port = self._listener.getsockname()
        return f"http://{host}:{port}"

    def run(self) -> None:
        """Serve forever, without garbage collection, whose pauses would affect every stream."""
        gc.disable()
        while True:
            for descriptor, _ in self._poll.poll(self._timeout_s(), 64):
                if descriptor == self._listener.fileno():
                    self._accept()
                elif descriptor == self._timer.descriptor:
                    self._timer.read()
                elif (connection := self._connections.get(descriptor)) is not None:
                    self._serve(connection)
            self._send_due()

    def _timeout_s(self) -> float:
        """Return the timeout for epoll. The timer ends the pause precisely, as epoll counts milliseconds."""
        if not self._due:
            return 1.0
        due_ns = self._due[0][0]
        if due_ns - time.monotonic_ns() < SPIN_NS:
            return 0.0
        self._timer.arm(due_ns - EARLY_NS)
        return 1.0

    def _send_due(self) -> None:
        for _ in range(BATCH):
            if not self._due or self._due[0][0] > time.monotonic_ns():
                return
            _, _, stream = heapq.heappop(self._due)
            if stream.connection.closed:
                continue
            data = _CONTENT if stream.sent_ns else _HEAD + _ROLE + _CONTENT
            stream.sent_ns.append(time.monotonic_ns())
            self._send(stream.connection, data)
            if len(stream.sent_ns) < stream.schedule.count:
                stream.due_ns += stream.schedule.gap_ns or 0
                self._schedule(stream)
            else:
                self._record(stream)
                self._send(stream.connection, _end(stream.schedule.count))

    def _schedule(self, stream: _Stream) -> None:
        self._order += 1
        heapq.heappush(self._due, (stream.due_ns, self._order, stream))

    def _record(self, stream: _Stream) -> None:
        self._truth.append({"user": stream.user, "read_ns": stream.read_ns, "sent_ns": stream.sent_ns})

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                peer, _ = self._listener.accept()
                peer.setblocking(False)
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                peer.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                self._connections[peer.fileno()] = _Connection(peer)
                self._poll.register(peer.fileno(), select.EPOLLIN)

    def _serve(self, connection: _Connection) -> None:
        if connection.unsent:
            self._send(connection, b"")
        try:
            data, ancillary, _, _ = connection.peer.recvmsg(1 << 16, ANCILLARY_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if not data:
            self._close(connection)
            return
        connection.read_ns = time.monotonic_ns()
        if ancillary:
            seconds, nanoseconds = TIMESPEC.unpack_from(ancillary[0][2])
            connection.read_ns = self._clock.monotonic_ns(seconds * 1_000_000_000 + nanoseconds)
        connection.received += data
        while not connection.closed and (request := _next_request(connection)) is not None:
            self._answer(connection, *request)

    def _answer(self, connection: _Connection, target: str, body: bytes) -> None:
        if target == "/truth":
            self._send_json(connection, self._truth)
        elif target == "/reset":
            self._truth = []
            gc.collect()
            self._send_json(connection, {})
        elif target.endswith("/chat/completions"):
            self._start(connection, body)
        else:
            self._send_json(connection, {"object": "list", "data": [{"id": "schedule", "object": "model"}]})

    def _start(self, connection: _Connection, body: bytes) -> None:
        read_ns = connection.read_ns
        try:
            request = json.loads(body)
            schedule = Schedule.parse(request["model"])
            user = str(request.get("user", ""))
        except (ValueError, KeyError, TypeError):
            schedule, user = None, ""
        if schedule is None:
            self._send_json(
                connection,
                {"error": {"message": "invalid model: expected a schedule such as schedule-T200-D20-N100"}},
                "400 Bad Request",
            )
        elif schedule.first_ns is None:
            self._send(connection, _HEAD + _ROLE + _CONTENT * schedule.count + _end(schedule.count))
            self._record(_Stream(connection, schedule, user, read_ns, read_ns))
        else:
            self._schedule(_Stream(connection, schedule, user, read_ns, read_ns + schedule.first_ns))

    def _send_json(self, connection: _Connection, value: Any, status: str = "200 OK") -> None:
        data = json.dumps(value).encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self._send(connection, head.encode() + data)

    def _send(self, connection: _Connection, data: bytes) -> None:
        """Send what the kernel accepts, and keep the rest until it accepts more."""
        if connection.unsent:
            data = connection.unsent + data
        sent = 0
        try:
            while sent < len(data):
                sent += connection.peer.send(memoryview(data)[sent:])
        except BlockingIOError:
            pass
        except OSError:
            self._close(connection)
            return
        before, connection.unsent = connection.unsent, data[sent:]
        if bool(before) != bool(connection.unsent):
            events = select.EPOLLIN | (select.EPOLLOUT if connection.unsent else 0)
            self._poll.modify(connection.peer.fileno(), events)

    def _close(self, connection: _Connection) -> None:
        if not connection.closed:
            connection.closed = True
            self._poll.unregister(connection.peer.fileno())
            del self._connections[connection.peer.fileno()]
            connection.peer.close()


def _next_request(connection: _Connection) -> tuple[str, bytes] | None:
    """Return the next complete request of a connection: its target and its body; None if it is incomplete."""
    head, separator, rest = connection.received.partition(b"\r\n\r\n")
    if not separator:
        return None
    line, *fields = head.decode("latin-1").split("\r\n")
    size = next((int(field[15:]) for field in fields if field.lower().startswith("content-length:")), 0)
    if len(rest) < size:
        return None
    connection.received = rest[size:]
    return line.split(" ")[1], rest[:size]


def main() -> None:
    """Print the URL and serve."""
    server = ScheduleServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(server.url, flush=True)  # noqa: T201 - the parent process reads it
    with contextlib.suppress(KeyboardInterrupt):
        server.run()


if __name__ == "__main__":
    main()
