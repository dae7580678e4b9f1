"""The inbox: all connections of a process that wait for bytes, read in one callback of the event loop.

Where the kernel stamps what it receives (Linux), an epoll of our own holds the connections, so that the loop is woken
once for many of them and calls Python once. While streams are many and their events far apart (`pace`), a timer takes
the place of that wake-up and lets reads wait a few milliseconds for one another; other greenlets run meanwhile, and
requests leave when they are due.

Most reads of a test bring an event of a stream that has begun. Such a read is *put by*: the turn itself receives its
bytes and appends them and their time to two lists, a *shelf*, which the connection's reader settles later, many reads
at once. Connections with a shelf are edge-triggered: otherwise the kernel looks at each a second time after every read.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent import monkey

from loadtests.client.connection import ROOM, STAMP, WHOLE, stamped_ns
from loadtests.client.delayed_ack import Receipts
from loadtests.client.read_batching import PAUSES_NS, Pace

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from loadtests.client.clock import Clock

    class Reading(Protocol):
        """Whoever reads a connection: settles a full shelf, and takes each read that cannot be put by."""

        def settle(self) -> None: ...
        def spare_receipts(self) -> None: ...
        def take(self, data: bytes, at_ns: int) -> None: ...
        def fail(self, error: OSError) -> None: ...

    Shelf = tuple[Callable[[int, int], Any], int, list[bytes], list[int], int, Reading]
    """(recvmsg, the most bytes of a read, reads put by, their times in ns, how many before `settle`, the reader)."""

READABLE: Final = 1  # of libev, libuv and epoll alike
EDGE: Final = READABLE | 0x2000 | 1 << 31
"""EPOLLIN, EPOLLRDHUP and EPOLLET: told once when bytes come, and told of the end apart from them."""
STAMPED: Final = 1000
"""Reads wait for one another only while at most one read in so many lacks the kernel's time. A few do: a system begins
to take times when the first socket asks for them."""
AT_ONCE: Final = 256
"""Connections that one turn serves; the others are served by the next, which follows at once where reads waited."""


class Inbox:
    """Calls a connection's reader when bytes have come.

    reads: how many there were; together_reads: how many of them waited for one another. receipts: what is known of each
    server, by host and port.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.pace = Pace()
        self.receipts: defaultdict[str, Receipts] = defaultdict(Receipts)
        self.reads = 0
        self.together_reads = 0
        self._readers: dict[int, Callable[[], None]] = {}
        self._shelves: dict[int, Shelf | None] = {}
        self._watchers: dict[int, Any] = {}
        self._loop: Any = gevent.get_hub().loop
        self._epoll: Any = None
        if sys.platform == "linux":
            self._epoll = monkey.get_original("select", "epoll")()
            self._woken: Any = self._loop.io(self._epoll.fileno(), READABLE)
            self._timers = {each: self._loop.timer(each / 1e9, each / 1e9) for each in PAUSES_NS}
            self._timer: Any = None

    @property
    def waits(self) -> bool:
        """Whether reads wait for one another at this time."""
        return self._epoll is not None and self._timer is not None

    def watch(self, descriptor: int, reader: Callable[[], None]) -> None:
        """Calls `reader` whenever the descriptor can be read, until `forget`. It must not wait."""
        if self._epoll is None:
            self._watchers[descriptor] = watcher = self._loop.io(descriptor, READABLE)
            watcher.start(reader)
            return
        self._epoll.register(descriptor, READABLE)
        if not self._readers:
            self._woken.start(self._wake)
        self._readers[descriptor] = reader
        self._shelves[descriptor] = None

    def put_by(self, descriptor: int, shelf: Shelf | None) -> None:
        """Puts reads that end an event by on this shelf from now on, where there is an epoll; None: no longer.

        A read that ends otherwise, fills its buffer or has no stamp goes to the reader at once, and so does an error.
        """
        if self._epoll is None:
            return
        if (shelf is None) != (self._shelves[descriptor] is None):
            self._epoll.modify(descriptor, READABLE if shelf is None else EDGE)
        self._shelves[descriptor] = shelf

    def readings(self) -> list[Reading]:
        """The readers of all connections that have a shelf."""
        return [shelf[5] for shelf in self._shelves.values() if shelf is not None]

    def forget(self, descriptor: int) -> None:
        """Watches a descriptor no longer, if it did."""
        if self._epoll is None:
            if (watcher := self._watchers.pop(descriptor, None)) is not None:
                watcher.stop()
                watcher.close()
        elif self._readers.pop(descriptor, None) is not None:
            del self._shelves[descriptor]
            self._epoll.unregister(descriptor)
            if not self._readers:
                self._woken.stop()
                self._wait(0)

    def _wake(self) -> None:
        self._turn()
        if pause_ns := self._pause_ns():
            self._woken.stop()
            self._wait(pause_ns)

    def _tick(self) -> None:
        for _ in range(1 + len(self._readers) // AT_ONCE):
            count = self._turn()
            self.together_reads += count
            if count < AT_ONCE:
                break
        pause_ns = self._pause_ns()
        if self._timer is not self._timers.get(pause_ns):
            self._wait(pause_ns)
            if self._readers and not pause_ns:
                self._woken.start(self._wake)

    def _pause_ns(self) -> int:
        stamped = self.clock.unstamped * STAMPED <= self.reads
        return self.pace.pause_ns if self._readers and stamped else 0

    def _wait(self, pause_ns: int) -> None:
        """Sets the timer that has a turn after each pause; 0: to none."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._timers.get(pause_ns)
        if self._timer is not None:
            self._timer.start(self._tick)

    def _turn(self) -> int:
        ready, readers, shelves = self._epoll.poll(0, AT_ONCE), self._readers, self._shelves
        clock, unpack = self.clock, STAMP.unpack_from
        offset_ns = clock.renewed_ns()
        last = base_ns = 0
        for descriptor, what in ready:
            shelf = shelves[descriptor]
            if shelf is None:
                readers[descriptor]()
                continue
            receive, size, held, stamps_ns, most, reading = shelf
            try:
                data, ancillary, _, _ = receive(size, ROOM)
            except OSError as error:
                reading.fail(error)
                continue
            if ancillary and what == READABLE and len(data) < size and data.endswith(WHOLE):
                seconds, nanoseconds = unpack(ancillary[0][2])
                if seconds != last:  # products of large numbers cost as much as the rest of this
                    last, base_ns = seconds, seconds * 1_000_000_000 - offset_ns
                held.append(data)
                stamps_ns.append(base_ns + nanoseconds)
                if len(held) >= most:
                    reading.settle()
            else:
                if what != READABLE or len(data) >= size:
                    # An edge that is past does not tell of bytes that are left, but setting the same events anew does.
                    self._epoll.modify(descriptor, EDGE)
                reading.take(data, stamped_ns(data, ancillary, clock))
        count = len(ready)
        self.reads += count
        self.pace.turned(count, len(readers), time.monotonic_ns())
        return count
