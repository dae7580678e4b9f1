"""Read all connections of a process in one callback of the event loop.

A greenlet that waits for a socket runs after the loop has served every other greenlet; with 200 streams that is
milliseconds later. Here the loop's own callback reads. On Linux, where the kernel gives receive times, one epoll
holds all connections, so that the loop wakes once for many of them and calls Python once. While streams are many and
their events far apart (`read_batching`), a timer replaces that wake-up and lets reads wait a few milliseconds for one
another. Other greenlets run meanwhile, and requests are sent when they are due.

Most reads of a test bring an event of a stream that has begun. The turn receives these bytes itself and appends them
and their time to the buffer of the connection's reader; the reader is called only when its buffer is full or a read
is unusual. Such connections are edge-triggered: otherwise the kernel checks each of them again after every read.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent import monkey

from loadtests.client.connection import ANCILLARY_BYTES, EVENT_END, TIMESPEC, receive_time_ns
from loadtests.client.delayed_ack import DelayedAck
from loadtests.client.held_bytes import HeldBytes
from loadtests.client.read_batching import PAUSES_NS, ReadBatching

if TYPE_CHECKING:
    from typing import Protocol

    from loadtests.client.clock import Clock

    class Reader(Protocol):
        """Reads one connection.

        read_size: the size of a read that the event loop may append to the reader's buffer, `reads` and `stamps_ns`; 0
        if the loop must call `read`. receive: the socket's `recvmsg`. max_reads: how many reads fill the buffer.
        """

        receive: Any
        read_size: int
        reads: list[bytes]
        stamps_ns: list[int]
        max_reads: int

        def read(self) -> None: ...
        def flush(self) -> None: ...
        def delay_acks(self) -> None: ...
        def handle_read(self, data: bytes, at_ns: int) -> None: ...
        def handle_error(self, error: OSError) -> None: ...


READABLE: Final = 1  # the same in libev, libuv and epoll
EDGE: Final = READABLE | 0x2000 | 1 << 31
"""EPOLLIN, EPOLLRDHUP and EPOLLET: report once when bytes come, and report the end of the connection separately."""
MIN_STAMPED: Final = 1000
"""Reads wait for one another only while at most one read in this many has no kernel time. A few have none: a system
begins to record times when the first socket asks for them."""
MAX_READY: Final = 256
"""The most connections that one turn serves. The next turn serves the others; after a pause it follows at once."""


class EventLoop:
    """Calls the reader of each connection when bytes have arrived.

    held: what the answers in flight hold. reads: the number of reads. batched_reads: how many of them waited for
    one another. delayed_acks: what is known about each server, by host and port.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.batching = ReadBatching()
        self.held = HeldBytes()
        self.delayed_acks: defaultdict[str, DelayedAck] = defaultdict(DelayedAck)
        self.reads = 0
        self.batched_reads = 0
        self._readers: dict[int, Reader] = {}
        self._watchers: dict[int, Any] = {}
        self._loop: Any = gevent.get_hub().loop
        self._epoll: Any = None
        if sys.platform == "linux":
            self._epoll = monkey.get_original("select", "epoll")()
            self._readable: Any = self._loop.io(self._epoll.fileno(), READABLE)
            self._timers = {pause_ns: self._loop.timer(pause_ns / 1e9, pause_ns / 1e9) for pause_ns in PAUSES_NS}
            self._timer: Any = None

    @property
    def is_batching(self) -> bool:
        """Whether reads wait for one another at present."""
        return self._epoll is not None and self._timer is not None

    def watch(self, descriptor: int, reader: Reader) -> None:
        """Serve a reader whenever its descriptor is readable, until `unwatch`. The reader must not block."""
        if self._epoll is None:
            self._watchers[descriptor] = watcher = self._loop.io(descriptor, READABLE)
            watcher.start(reader.read)
            return
        self._epoll.register(descriptor, READABLE)
        if not self._readers:
            self._readable.start(self._on_readable)
        self._readers[descriptor] = reader

    def set_edge_triggered(self, descriptor: int, edge: bool) -> None:
        """Choose whether a descriptor is reported once when bytes come, or as long as there are any."""
        if self._epoll is not None:
            self._epoll.modify(descriptor, EDGE if edge else READABLE)

    def buffering_readers(self) -> list[Reader]:
        """Return the readers to whose buffers the loop appends."""
        return [reader for reader in self._readers.values() if reader.read_size]

    def unwatch(self, descriptor: int) -> None:
        """Stop watching a descriptor; do nothing if it is not watched."""
        if self._epoll is None:
            if (watcher := self._watchers.pop(descriptor, None)) is not None:
                watcher.stop()
                watcher.close()
        elif self._readers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)
            if not self._readers:
                self._readable.stop()
                self._set_timer(0)

    def _on_readable(self) -> None:
        self._serve_ready()
        if pause_ns := self._pause_ns():
            self._readable.stop()
            self._set_timer(pause_ns)

    def _on_timer(self) -> None:
        for _ in range(1 + len(self._readers) // MAX_READY):
            count = self._serve_ready()
            self.batched_reads += count
            if count < MAX_READY:
                break
        pause_ns = self._pause_ns()
        if self._timer is not self._timers.get(pause_ns):
            self._set_timer(pause_ns)
            if self._readers and not pause_ns:
                self._readable.start(self._on_readable)

    def _pause_ns(self) -> int:
        stamped = self.clock.unstamped * MIN_STAMPED <= self.reads
        return self.batching.pause_ns if self._readers and stamped else 0

    def _set_timer(self, pause_ns: int) -> None:
        """Serve connections after each pause; 0 stops the timer."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._timers.get(pause_ns)
        if self._timer is not None:
            self._timer.start(self._on_timer)

    def _serve_ready(self) -> int:
        """Read the connections that are ready; return how many there were."""
        ready, readers = self._epoll.poll(0, MAX_READY), self._readers
        clock, unpack = self.clock, TIMESPEC.unpack_from
        offset_ns = clock.renew_offset_ns()
        last = base_ns = 0
        for descriptor, events in ready:
            reader = readers[descriptor]
            size = reader.read_size
            if not size:
                reader.read()
                continue
            try:
                data, ancillary, _, _ = reader.receive(size, ANCILLARY_BYTES)
            except OSError as error:
                reader.handle_error(error)
                continue
            if ancillary and events == READABLE and len(data) < size and data.endswith(EVENT_END):
                seconds, nanoseconds = unpack(ancillary[0][2])
                if seconds != last:  # multiplying large numbers costs as much as the rest of this branch
                    last, base_ns = seconds, seconds * 1_000_000_000 - offset_ns
                reads = reader.reads
                reads.append(data)
                reader.stamps_ns.append(base_ns + nanoseconds)
                if len(reads) >= reader.max_reads:
                    reader.flush()
            else:
                if events != READABLE or len(data) >= size:
                    # A past edge does not report bytes that are left, but setting the same events again does.
                    self._epoll.modify(descriptor, EDGE)
                reader.handle_read(data, receive_time_ns(data, ancillary, clock))
        count = len(ready)
        self.reads += count
        self.batching.record_turn(count, len(readers), time.monotonic_ns())
        return count
