"""The embedded server: the reference server as a child process, met like any other at its URL."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from conformance.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract import Contract

START_S = 180.0  # a cold disk and two busy cores
STOP_S = 10.0
KEY_VARIABLE = "CHATPROOF_EMBEDDED_KEY"
ADDRESS = re.compile(r"http://[\w.\[\]:]+")
NEEDED = ("torch", "transformers", "fastapi", "uvicorn")


@dataclass(frozen=True, slots=True)
class Embedded:
    """A running server: its address, and the key it asks for ("" where it asks for none)."""

    url: str
    key: str


@contextmanager
def serve(contract: Contract) -> Iterator[Embedded]:
    """Starts the reference server for a contract on a free port of the loopback and ends it afterwards.

    Raises UsageError when the parts of the server are not installed, HarnessError when it does not start.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"the embedded server needs {', '.join(missing)}: pip install 'chatproof[server]', or name the URL of a server"
        )
    key = secrets.token_urlsafe(24) if contract.auth == "bearer" else ""
    command = [
        sys.executable,
        "-m",
        "reference_server",
        "--dialect",
        contract.name,
        "--host",
        "127.0.0.1",
        "--port",
        "0",
    ]
    command += ["--api-key-env", KEY_VARIABLE] if key else []
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", KEY_VARIABLE: key}
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield Embedded(_address(process), key)
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    """Reads the line that the server prints when it listens; its other words are kept for an error."""
    if process.stdout is None or process.stderr is None:
        raise HarnessError("the embedded server has no output to read")
    words: list[str] = []
    drain = threading.Thread(target=lambda stream: words.extend(stream), args=(process.stderr,), daemon=True)
    drain.start()
    watchdog = threading.Timer(START_S, process.kill)
    watchdog.start()
    try:
        for line in process.stdout:
            if found := ADDRESS.search(line):
                threading.Thread(
                    target=lambda stream: [None for _ in stream], args=(process.stdout,), daemon=True
                ).start()
                return found.group()
    finally:
        watchdog.cancel()
    drain.join(1.0)
    last = words[-1].strip() if words else f"it ended with {process.wait()}"
    raise HarnessError(f"the embedded server did not start: {last}")
