"""Run load tests like a user, with real processes and sockets, and a server with a known schedule."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODEL = "schedule-T20-D5-N20"


@contextmanager
def run_schedule_server() -> Iterator[str]:
    command = [sys.executable, "-m", "loadtests.calibrate.schedule_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield (process.stdout.readline() if process.stdout else "").strip()
        finally:
            process.terminate()


def run_load_test(url: str, out: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Return the exit code, the output and the results."""
    command = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--model", MODEL]
    command += ["--warm-up", "500ms", "--time", "2s", "--users", "3", "--out", str(out), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    file = out / "results.json"
    return run.returncode, run.stdout + run.stderr, json.loads(file.read_text()) if file.exists() else {}


def process_arguments(workers: int) -> list[str]:
    """Return arguments for a number of processes with a port of their own, as other tests may run at the same time."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    return ["--processes", str(workers), "--master-bind-port", port, "--master-port", port]
