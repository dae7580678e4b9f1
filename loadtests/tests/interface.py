"""Locust's web interface as a user has it, and what it answers in the end."""

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

from loadtests.tests.runs import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def web(url: str, *arguments: str) -> Iterator[str]:
    """Locust's web interface on a free port; its reports stand where nobody looks unless `--out` is given."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--model", MODEL, "--web"]
    command += ["--web-port", port, "--users", "3", "--warm-up", "0s", "--time", "60s", *arguments]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder) as process,
    ):
        try:
            patiently(f"http://127.0.0.1:{port}/", lambda status: status < 500)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
    assert "Traceback" not in said


def text_of(answer: httpx.Response) -> str:
    return answer.text


def patiently(url: str, wanted: Callable[[Any], bool], read: Callable[[httpx.Response], Any] | None = None) -> Any:
    """What an address answers, once it answers what is wanted."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            answer = httpx.get(url)
            found = read(answer) if read else answer.status_code
            if wanted(found):
                return found
        time.sleep(0.05)
    raise AssertionError(f"{url} never answered what was wanted")
