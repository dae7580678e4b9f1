"""The wire: one connection, plain or TLS, that is read without waiting and tells when the bytes came.

TLS runs over memory buffers, so that its bytes are read like any other and carry the kernel's receive times too.
Those are `SO_TIMESTAMPNS` of Linux; elsewhere the time of the read is taken.
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
"""What a read asks for while little comes: a buffer is made for each, and a small one costs a third less."""
MOST_BYTES: Final = 65_536
"""What it asks for after a read that was full; the allocator maps and unmaps a larger buffer at each read."""
WHOLE: Final = b"\n\n\r\n"
"""How a read ends that brought whole events in whole HTTP chunks. Nothing that ends so is the end of an answer."""
SO_TIMESTAMPNS: Final = 35
"""Linux: receive times in nanoseconds. Python's socket module has no name for it."""
STAMP: Final = struct.Struct("@ll")
ROOM: Final = socket.CMSG_SPACE(STAMP.size)
UNDER_WAY: Final = (errno.EINPROGRESS, errno.EWOULDBLOCK)

PlainSocket: Any = monkey.get_original("socket", "socket")


class Wire:
    """A connection to `host` and `port`. `read` returns at once, `send` when everything is on its way.

    `read()` gives what has come, and when its last byte did: b"" at the end. It raises BlockingIOError if nothing is
    there. Which method it is (stamped or not, TLS or not) is decided once, as it is called for every event of a test.
    """

    __slots__ = ("_clock", "_incoming", "_outgoing", "_receive", "_size", "_socket", "_tls", "read")

    def __init__(self, host: str, port: int, clock: Clock, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        """Connects. Raises OSError (ssl.SSLError among them) when that fails or takes longer than `timeout_s`."""
        with gevent.Timeout(timeout_s, TimeoutError(f"no connection within {timeout_s:g} s")):
            self._socket = _connected(host, port)
            self._clock = clock
            self._size = READ_BYTES
            self._tls: ssl.SSLObject | None = None
            self._receive: Callable[[], tuple[bytes, int]] = self._receive_timed
            try:
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if sys.platform == "linux":
                    self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                    self._receive = self._receive_stamped
                if tls is not None:
                    self._shake_hands(tls, host)
                self.read = self._receive if tls is None else self._read_tls
            except BaseException:
                self.close()
                raise

    def fileno(self) -> int:
        """The descriptor to watch for bytes."""
        return self._socket.fileno()  # type: ignore[no-any-return]

    @property
    def plain_reader(self) -> Callable[[int, int], Any] | None:
        """What receives bytes and the kernel's stamp as they are; None where bytes need more, or have no stamp."""
        return self._socket.recvmsg if self._tls is None and sys.platform == "linux" else None

    def hold_receipts(self) -> None:
        """Lets the kernel acknowledge several reads at once, until a receipt has waited for 40 ms. Linux only."""
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)

    def give_up(self) -> None:
        """Ends the connection in both directions; whoever still sends is told."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the connection."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def send(self, data: bytes) -> None:
        """Sends everything, other greenlets running while the peer is slow. Raises OSError."""
        if self._tls is not None:
            self._tls.write(data)
            data = self._outgoing.read()
        left = memoryview(data)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                gevent.socket.wait_write(self._socket.fileno())

    def _receive_stamped(self) -> tuple[bytes, int]:
        data, ancillary, _, _ = self._socket.recvmsg(self._size, ROOM)
        self._size = MOST_BYTES if len(data) >= READ_BYTES else READ_BYTES
        return data, stamped_ns(data, ancillary, self._clock)

    def _receive_timed(self) -> tuple[bytes, int]:
        return self._socket.recv(MOST_BYTES), time.monotonic_ns()

    def _read_tls(self) -> tuple[bytes, int]:
        data, at_ns = self._receive()
        if not data or self._tls is None:
            return data, at_ns
        self._incoming.write(data)
        pieces = []
        while True:
            try:
                piece = self._tls.read(MOST_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
                break
            if not piece:
                break
            pieces.append(piece)
        if not pieces:
            raise BlockingIOError  # a record is not complete yet, or it held no data
        return b"".join(pieces), at_ns

    def _shake_hands(self, context: ssl.SSLContext, host: str) -> None:
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
                self._push(out)
            if done:
                return
            gevent.socket.wait_read(self._socket.fileno())
            data = self._socket.recv(MOST_BYTES)
            if not data:
                raise ConnectionError("the server ended the connection in the TLS handshake")
            self._incoming.write(data)

    def _push(self, data: bytes) -> None:
        while data:
            try:
                data = data[self._socket.send(data) :]
            except BlockingIOError:
                gevent.socket.wait_write(self._socket.fileno())


def stamped_ns(data: bytes, ancillary: Sequence[tuple[int, int, bytes]], clock: Clock) -> int:
    """When the last byte of a read came."""
    if not ancillary:
        clock.unstamped += bool(data)  # there is none at the end
        return time.monotonic_ns()
    seconds, nanoseconds = STAMP.unpack_from(ancillary[0][2])
    return clock.monotonic_ns(seconds * 1_000_000_000 + nanoseconds)


def _connected(host: str, port: int) -> Any:
    """A connected socket that does not block. An address in figures is not looked up, which would take a thread."""
    family = _family(host)
    if family is None:
        made = PlainSocket(fileno=gevent.socket.create_connection((host, port)).detach())
        made.setblocking(False)
        return made
    made = PlainSocket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        code = made.connect_ex((host, port))
        if code in UNDER_WAY:
            gevent.socket.wait_write(made.fileno())
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
    except BaseException:
        made.close()
        raise
    return made


def _family(host: str) -> socket.AddressFamily | None:
    """The family of an address in figures, None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return family
    return None
