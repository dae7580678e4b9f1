"""Servers as child processes on the loopback interface."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import httpx

from tests.third_parties.catalogue import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

POLL_S: Final = 0.3
STOP_S: Final = 10.0
START_S: Final = 400.0
"""The longest that our own server may take to start on a busy machine."""
KEY: Final = "third-party-key"
KEY_VARIABLE: Final = "CHATPROOF_THIRD_PARTY_KEY"
"""API key of our own server, which some dialects require."""
ENVIRONMENT: Final = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "DO_NOT_TRACK": "1"}


class NotStartedError(Exception):
    """A server did not answer in time; the message is one line."""


def free_port() -> int:
    """Return a port of the loopback interface that no process listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str], url: str, folder: Path, log: Path, start_s: float, variables: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server, wait until `url` answers with 200, and stop its process group at the end.

    Raises NotStartedError.
    """
    environment = {**os.environ, **ENVIRONMENT, **variables}
    environment.pop("PYTHONPATH", None)  # ours would hide the modules of the server's own environment
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    try:
        _wait(process, url, log, start_s)
        yield process
    finally:
        _stop(process)


@contextmanager
def our_server(arguments: Sequence[str], log: Path, *, with_key: bool) -> Iterator[str]:
    """Run `chatproof serve` with some options, with or without an API key, and yield its URL."""
    port = free_port()
    command = [sys.executable, "-m", "chatproof", "serve", *arguments, "--port", str(port)]
    command += ["--api-key-env", KEY_VARIABLE] if with_key else []
    url = f"http://127.0.0.1:{port}"
    with running(command, f"{url}/health", ROOT, log, START_S, {KEY_VARIABLE: KEY}):
        yield url


def answers(url: str) -> bool:
    """Whether a URL answers with 200 within a few seconds."""
    try:
        return httpx.get(url, timeout=5.0, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _wait(process: subprocess.Popen[bytes], url: str, log: Path, start_s: float) -> None:
    until = time.monotonic() + start_s
    while time.monotonic() < until:
        if process.poll() is not None:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise NotStartedError(f"ended with {process.returncode}: {(lines or ['no output'])[-1][:200]}")
        if answers(url):
            return
        time.sleep(POLL_S)
    raise NotStartedError(f"not ready after {start_s:.0f} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process group that the server was started in, by SIGTERM and then by SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
