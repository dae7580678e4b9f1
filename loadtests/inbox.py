"""The inbox: all connections of a process that wait for bytes, read in one callback of the event loop.

Where the kernel stamps what it receives, an epoll of our own holds them: the loop is woken once for many and calls
Python once. While streams are many and their events far apart (`pace`), a timer wakes it every two milliseconds. It
holds nobody up: other greenlets run, and requests leave when they are due.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent import monkey

from loadtests.pace import PAUSE_NS, Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from loadtests.clock import Clock

READABLE: Final = 1  # of libev, libuv and epoll alike
AT_ONCE: Final = 256
"""Connections of one turn; what is left has the next."""


class Inbox:
    """Calls a connection's reader when bytes have come. `together_reads` of `reads` have waited for one another."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.pace = Pace()
        self.reads = 0
        self.together_reads = 0
        self._readers: dict[int, Callable[[], None]] = {}
        self._watchers: dict[int, Any] = {}
        self._loop: Any = gevent.get_hub().loop
        self._epoll: Any = None
        if sys.platform == "linux":
            self._epoll = monkey.get_original("select", "epoll")()
            self._woken: Any = self._loop.io(self._epoll.fileno(), READABLE)
            self._timer: Any = self._loop.timer(PAUSE_NS / 1e9, PAUSE_NS / 1e9)

    @property
    def waits(self) -> bool:
        """Whether reads wait for one another at this time."""
        return self._epoll is not None and bool(self._timer.active)

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

    def forget(self, descriptor: int) -> None:
        """Watches a descriptor no longer, if it did."""
        if self._epoll is None:
            if (watcher := self._watchers.pop(descriptor, None)) is not None:
                watcher.stop()
                watcher.close()
        elif self._readers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)
            if not self._readers:
                self._woken.stop()
                self._timer.stop()

    def _wake(self) -> None:
        self._turn()
        if self._readers and self.pace.together and not self.clock.unstamped:
            self._woken.stop()
            self._timer.start(self._tick)

    def _tick(self) -> None:
        self.together_reads += self._turn()
        if self._readers and not (self.pace.together and not self.clock.unstamped):
            self._timer.stop()
            self._woken.start(self._wake)

    def _turn(self) -> int:
        ready, readers = self._epoll.poll(0, AT_ONCE), self._readers
        for descriptor, _ in ready:
            readers[descriptor]()
        count = len(ready)
        self.reads += count
        self.pace.turned(count, time.monotonic_ns())
        return count
