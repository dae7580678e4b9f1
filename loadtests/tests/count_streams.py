"""A program: counts running streams, and prints how many were counted before a readable socket was read.

It runs in its own process, since Locust patches parts of the standard library when it is imported.
"""

from __future__ import annotations

import socket
import sys
from argparse import Namespace
from typing import Any

import gevent
from locust.env import Environment

from loadtests.client.event_loop import READABLE
from loadtests.run import load_generator
from loadtests.run.load_generator import STREAMS_PER_SLICE, LoadGenerator
from loadtests.run.options import OPTIONS
from loadtests.run.settings import build_settings

STREAMS = 3 * STREAMS_PER_SLICE


def main() -> None:
    """Make the socket readable when the first stream is counted."""
    values: dict[str, Any] = {option.name.replace("-", "_"): option.default for option in OPTIONS}
    options = Namespace(**values, host="http://127.0.0.1:9", seconds=1.0, warm_up=0.0, num_users=1)
    generator = LoadGenerator(Environment(), build_settings(options), lambda: None)
    done: list[str] = []
    near, far = socket.socketpair()

    class IdleCaller:
        """A caller whose stream has no new reads."""

        @property
        def answer(self) -> None:
            if not done:
                far.send(b"x")
            done.append("counted")

    watcher = gevent.get_hub().loop.io(near.fileno(), READABLE)
    watcher.start(lambda: done.append(near.recv(1).decode()))
    generator.in_flight |= {IdleCaller() for _ in range(STREAMS)}  # type: ignore[misc]
    gevent.spawn(generator.count_running_streams)
    while len(done) <= STREAMS:
        gevent.sleep(0.01)
    sys.stdout.write(str(done.index("x")))


if __name__ == "__main__":
    load_generator.COUNT_INTERVAL_NS = 1  # type: ignore[misc]
    main()
