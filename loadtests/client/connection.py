"""One connection, plain or TLS, whose reads do not wait and carry the time at which the bytes arrived.

The time is the kernel's receive time (`SO_TIMESTAMPNS` on Linux); elsewhere it is the time of the read. TLS runs over
memory buffers, so that its bytes are read like any others and have the kernel's receive time too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import ssl
import struct
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import gevent.socket
from gevent import monkey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loadtests.client.clock import Clock

READ_BYTES: Final = 4096
"""The size of a read while little data comes: each read allocates a buffer, and a small one costs a third less."""
MAX_READ_BYTES: Final = 65_536
"""The size of a read after a full one. The allocator maps and unmaps a larger buffer at each read."""
EVENT_END: Final = b"\n\n\r\n"
"""How a read ends that brought whole events in whole HTTP chunks. The end of an answer never looks like this."""
SO_TIMESTAMPNS: Final = 35
"""Linux: receive times in nanoseconds. Python's socket module has no name for this option."""
TCP_NOTSENT_LOWAT: Final[int | None] = getattr(socket, "TCP_NOTSENT_LOWAT", None)
"""Not on every platform. Without it the kernel takes megabytes at once, and an upload seems to be over too early."""
TIMESPEC: Final = struct.Struct("@ll")
ANCILLARY_BYTES: Final = socket.CMSG_SPACE(TIMESPEC.size)
CONNECTING: Final = (errno.EINPROGRESS, errno.EWOULDBLOCK)

PlainSocket: Any = monkey.get_original("socket", "socket")


class TimedConnection:
    """A connection to `host` and `port`.

    `read()` returns the received bytes and the time at which the last of them arrived; b"" at the end of the
    connection. It raises BlockingIOError if there is nothing to read. `read` is bound to one of three methods (with
    or without the kernel's time, TLS or not) when the connection is made, as it is called for every event of a test.
    """

    __slots__ = ("_clock", "_incoming", "_outgoing", "_receive", "_size", "_socket", "_tls", "read")

    def __init__(self, host: str, port: int, clock: Clock, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        """Connect. Raise OSError (or its subclass ssl.SSLError) if that fails or takes longer than `timeout_s`."""
        with gevent.Timeout(timeout_s, TimeoutError(f"no connection within {timeout_s:g} s")):
            self._socket = _connect(host, port)
            self._clock = clock
            self._size = READ_BYTES
            self._tls: ssl.SSLObject | None = None
            self._receive: Callable[[], tuple[bytes, int]] = self._receive_with_read_time
            try:
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if sys.platform == "linux":
                    self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                    self._receive = self._receive_with_kernel_time
                if tls is not None:
                    self._start_tls(tls, host)
                self.read = self._receive if tls is None else self._read_tls
            except BaseException:
                self.close()
                raise

    def fileno(self) -> int:
        """Return the file descriptor to watch."""
        return self._socket.fileno()  # type: ignore[no-any-return]

    @property
    def recvmsg(self) -> Callable[[int, int], Any] | None:
        """The socket's `recvmsg`; None if its bytes need decrypting or have no kernel time."""
        return self._socket.recvmsg if self._tls is None and sys.platform == "linux" else None

    def delay_acks(self) -> None:
        """Let the kernel acknowledge several reads at once, until an acknowledgement was 40 ms late. Linux only."""
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)

    def limit_unsent(self, size: int) -> None:
        """Let `send` wait while the kernel holds more unsent bytes, so that its end is the end of the upload."""
        if TCP_NOTSENT_LOWAT is not None:
            self._socket.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, size)

    def abort(self) -> None:
        """End the connection in both directions; a `send` in progress fails."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def send(self, data: bytes) -> None:
        """Send all bytes; other greenlets run while the peer is slow. Raise OSError on failure."""
        if self._tls is not None:
            self._tls.write(data)
            data = self._outgoing.read()
        left = memoryview(data)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                gevent.socket.wait_write(self._socket.fileno())

    def _receive_with_kernel_time(self) -> tuple[bytes, int]:
        data, ancillary, _, _ = self._socket.recvmsg(self._size, ANCILLARY_BYTES)
        self._size = MAX_READ_BYTES if len(data) >= READ_BYTES else READ_BYTES
        return data, receive_time_ns(data, ancillary, self._clock)

    def _receive_with_read_time(self) -> tuple[bytes, int]:
        return self._socket.recv(MAX_READ_BYTES), time.monotonic_ns()

    def _read_tls(self) -> tuple[bytes, int]:
        data, at_ns = self._receive()
        if not data or self._tls is None:
            return data, at_ns
        self._incoming.write(data)
        pieces = []
        while True:
            try:
                piece = self._tls.read(MAX_READ_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
                break
            if not piece:
                break
            pieces.append(piece)
        if not pieces:
            raise BlockingIOError  # a record is not complete yet, or it had no data
        return b"".join(pieces), at_ns

    def _start_tls(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                done = False
            else:
                done = True
            if out := self._outgoing.read():
                self._send_all(out)
            if done:
                return
            gevent.socket.wait_read(self._socket.fileno())
            data = self._socket.recv(MAX_READ_BYTES)
            if not data:
                raise ConnectionError("the server closed the connection during the TLS handshake")
            self._incoming.write(data)

    def _send_all(self, data: bytes) -> None:
        while data:
            try:
                data = data[self._socket.send(data) :]
            except BlockingIOError:
                gevent.socket.wait_write(self._socket.fileno())


def receive_time_ns(data: bytes, ancillary: Sequence[tuple[int, int, bytes]], clock: Clock) -> int:
    """Return when the last byte of a read arrived."""
    if not ancillary:
        clock.unstamped += bool(data)  # the end of a connection has no time
        return time.monotonic_ns()
    seconds, nanoseconds = TIMESPEC.unpack_from(ancillary[0][2])
    return clock.monotonic_ns(seconds * 1_000_000_000 + nanoseconds)


def _connect(host: str, port: int) -> Any:
    """Return a connected socket that does not block. A numeric address is not resolved, which would need a thread."""
    family = _numeric_family(host)
    if family is None:
        connected = PlainSocket(fileno=gevent.socket.create_connection((host, port)).detach())
        connected.setblocking(False)
        return connected
    connected = PlainSocket(family, socket.SOCK_STREAM)
    try:
        connected.setblocking(False)
        code = connected.connect_ex((host, port))
        if code in CONNECTING:
            gevent.socket.wait_write(connected.fileno())
            code = connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
    except BaseException:
        connected.close()
        raise
    return connected


def _numeric_family(host: str) -> socket.AddressFamily | None:
    """Return the family of a numeric address, None for a host name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return family
    return None
