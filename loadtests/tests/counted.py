"""A program: counts streams that are running, and says how many were before a socket that has bytes was read.

A process of its own, since Locust replaces parts of the standard library where it is imported.
"""

from __future__ import annotations

import socket
import sys
from argparse import Namespace
from typing import Any

import gevent
from locust.env import Environment

from loadtests.client.event_loop import READABLE
from loadtests.run import load_generator as sending
from loadtests.run.load_generator import AT_ONCE, Sending
from loadtests.run.options import OPTIONS
from loadtests.run.settings import settings

MANY = 3 * AT_ONCE


def main() -> None:
    """Makes the socket readable as the first stream is counted."""
    values: dict[str, Any] = {option.name.replace("-", "_"): option.default for option in OPTIONS}
    nobody = Namespace(**values, host="http://127.0.0.1:9", seconds=1.0, warm_up=0.0, num_users=1)
    counting = Sending(Environment(), settings(nobody), lambda: None)
    done: list[str] = []
    near, far = socket.socketpair()

    class Running:
        """A caller whose stream has nothing new."""

        @property
        def answer(self) -> None:
            if not done:
                far.send(b"x")
            done.append("counted")

    watcher = gevent.get_hub().loop.io(near.fileno(), READABLE)
    watcher.start(lambda: done.append(near.recv(1).decode()))
    counting.in_flight |= {Running() for _ in range(MANY)}  # type: ignore[misc]
    gevent.spawn(counting.look_at_streams)
    while len(done) <= MANY:
        gevent.sleep(0.01)
    sys.stdout.write(str(done.index("x")))


if __name__ == "__main__":
    sending.EVERY_NS = 1  # type: ignore[misc]
    main()
