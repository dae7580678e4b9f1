"""The load generator does not delay reads while it counts streams."""

from __future__ import annotations

import subprocess
import sys


def test_sockets_are_read_while_streams_are_counted() -> None:
    """Counting all streams at once would block the loop: events of a stream would be read together and share a time."""
    command = [sys.executable, "-m", "loadtests.tests.count_streams"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert int(run.stdout) < 60
