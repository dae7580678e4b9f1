"""Sending: what a test does beside its requests, and that it keeps nobody from reading."""

from __future__ import annotations

import subprocess
import sys


def test_sockets_are_read_between_streams_that_are_counted() -> None:
    """All at once they would hold the loop up: events of a stream would wait for one another and share a time."""
    command = [sys.executable, "-m", "loadtests.tests.counted"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert int(made.stdout) < 60
