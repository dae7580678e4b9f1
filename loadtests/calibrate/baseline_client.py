"""A client that only receives and records the kernel's times: the baseline for the transport in a calibration.

Its costs and errors are those of the machine, which no client can go below.
"""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Final

from loadtests.client.clock import Clock
from loadtests.client.connection import ANCILLARY_BYTES, READ_BYTES, SO_TIMESTAMPNS, TIMESPEC

if TYPE_CHECKING:
    from collections.abc import Sequence

STREAM_END: Final = b"\r\n0\r\n\r\n"
CONTENT: Final = b'"content":" '


class BaselineClient:
    """Reads one stream over each connection."""

    def __init__(self, host: str, port: int, streams: int) -> None:
        """Connect; the connections are idle until `read_streams`."""
        self._clock = Clock()
        self._poll = select.epoll()
        self._sockets = [socket.create_connection((host, port)) for _ in range(streams)]
        for connection in self._sockets:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self._poll.register(connection.fileno(), select.EPOLLIN)

    def read_streams(self, requests: Sequence[bytes], stagger_s: float) -> tuple[list[int], list[list[int]]]:
        """Send one request on each connection, `stagger_s` apart.

        Return when each request was sent, and when the events of each stream arrived.
        """
        numbers = {connection.fileno(): number for number, connection in enumerate(self._sockets)}
        sent_ns: list[int] = []
        stamps_ns: list[list[int]] = [[] for _ in requests]
        began_s, left = time.monotonic(), len(requests)
        while left:
            wait_s = 1.0
            if len(sent_ns) < len(requests):
                wait_s = max(0.0, began_s + len(sent_ns) * stagger_s - time.monotonic())
                if not wait_s:
                    connection = self._sockets[len(sent_ns)]
                    sent_ns.append(time.monotonic_ns())
                    connection.sendall(requests[len(sent_ns) - 1])
            for descriptor, _ in self._poll.poll(wait_s, 64):
                number = numbers[descriptor]
                data, ancillary, _, _ = self._sockets[number].recvmsg(READ_BYTES, ANCILLARY_BYTES)
                seconds, nanoseconds = TIMESPEC.unpack_from(ancillary[0][2])
                at_ns = self._clock.monotonic_ns(seconds * 1_000_000_000 + nanoseconds)
                stamps_ns[number] += [at_ns] * data.count(CONTENT)
                left -= data.endswith(STREAM_END)
        return sent_ns, stamps_ns

    def close(self) -> None:
        """Close the connections."""
        self._poll.close()
        for connection in self._sockets:
            connection.close()
