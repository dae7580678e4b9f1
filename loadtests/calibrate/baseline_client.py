"""The bare client: a calibration's streams, read by a loop that receives, notes the kernel's time and does no more.

What it costs and how wrong it is, nobody on this machine can better: it tells the machine's part from ours.
"""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Final

from loadtests.client.clock import Clock
from loadtests.client.connection import READ_BYTES, ROOM, SO_TIMESTAMPNS, STAMP

if TYPE_CHECKING:
    from collections.abc import Sequence

END: Final = b"\r\n0\r\n\r\n"
MARK: Final = b'"content":" '


class Bare:
    """Reads one stream over each connection."""

    def __init__(self, host: str, port: int, streams: int) -> None:
        """Connects; the connections are idle until `drive`."""
        self._clock = Clock()
        self._poll = select.epoll()
        self._sockets = [socket.create_connection((host, port)) for _ in range(streams)]
        for each in self._sockets:
            each.setblocking(False)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self._poll.register(each.fileno(), select.EPOLLIN)

    def drive(self, requests: Sequence[bytes], stagger_s: float) -> tuple[list[int], list[list[int]]]:
        """Sends one request on each connection, `stagger_s` apart; when each was sent, and when its events came."""
        numbers = {each.fileno(): number for number, each in enumerate(self._sockets)}
        sent_ns: list[int] = []
        stamps_ns: list[list[int]] = [[] for _ in requests]
        began_s, left = time.monotonic(), len(requests)
        while left:
            wait_s = 1.0
            if len(sent_ns) < len(requests):
                wait_s = max(0.0, began_s + len(sent_ns) * stagger_s - time.monotonic())
                if not wait_s:
                    peer = self._sockets[len(sent_ns)]
                    sent_ns.append(time.monotonic_ns())
                    peer.sendall(requests[len(sent_ns) - 1])
            for descriptor, _ in self._poll.poll(wait_s, 64):
                number = numbers[descriptor]
                data, ancillary, _, _ = self._sockets[number].recvmsg(READ_BYTES, ROOM)
                seconds, nanoseconds = STAMP.unpack_from(ancillary[0][2])
                at_ns = self._clock.monotonic_ns(seconds * 1_000_000_000 + nanoseconds)
                stamps_ns[number] += [at_ns] * data.count(MARK)
                left -= data.endswith(END)
        return sent_ns, stamps_ns

    def close(self) -> None:
        """Closes the connections."""
        self._poll.close()
        for each in self._sockets:
            each.close()
