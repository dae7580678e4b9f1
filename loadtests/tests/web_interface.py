"""Run Locust's web interface like a user, and wait for what it shows."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx

from loadtests.tests.load_runs import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def run_web_interface(url: str, *arguments: str) -> Iterator[str]:
    """Run the web interface on a free port; without `--out`, its reports go to a temporary folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--model", MODEL, "--web"]
    command += ["--web-port", port, "--users", "3", "--warm-up", "0s", "--time", "60s", *arguments]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder) as process,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/", lambda status: status < 500)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors


def get_text(response: httpx.Response) -> str:
    return response.text


def get_state(response: httpx.Response) -> str:
    return str(response.json()["state"])


def wait_for(url: str, expected: Callable[[Any], bool], read: Callable[[httpx.Response], Any] | None = None) -> Any:
    """Request a URL until its answer is as expected, and return it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            response = httpx.get(url)
            value = read(response) if read else response.status_code
            if expected(value):
                return value
        time.sleep(0.05)
    raise AssertionError(f"{url} did not give the expected answer within 60 s")


def wait_until_stopped(base: str) -> None:
    wait_for(f"{base}/stats/requests", lambda state: state == "stopped", get_state)
