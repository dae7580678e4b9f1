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
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from conformance.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi.contract.contract import Contract

START_S = 180.0  # a cold disk and two busy cores
STOP_S = 10.0
KEY_VARIABLE = "CHATPROOF_EMBEDDED_KEY"
PARENT_VARIABLE = "CHATPROOF_PARENT"  # the server ends with this process, even where that is killed
ADDRESS = re.compile(r"http://[\w.\[\]:]+")
ORIGIN = "https://chatproof.example"  # that of the scenario `cors`, so that there is something to judge
NEEDED = ("torch", "transformers", "fastapi", "uvicorn")


@dataclass(frozen=True, slots=True)
class Embedded:
    """A running server: its address, and the key it asks for ("" where it asks for none)."""

    url: str
    key: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a server said until it listened: its address, and the lines before."""

    address: str
    before: tuple[str, ...]


@contextmanager
def serve(contract: Contract) -> Iterator[Embedded]:
    """Starts the reference server for a contract on a free port of the loopback and ends it afterwards.

    Raises UsageError when the parts of the server are not installed, HarnessError when it does not start.
    """
    demand_parts()
    key = secrets.token_urlsafe(24) if contract.auth == "bearer" else ""
    options = ["--dialect", contract.name, "--host", "127.0.0.1", "--port", "0", "--allow-origin", ORIGIN]
    options += ["--api-key-env", KEY_VARIABLE] if key else []
    with child("reference_server", options, key) as said:
        yield Embedded(said.address, key)


def demand_parts() -> None:
    """Raises UsageError when the parts of the server are not installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"the embedded server needs {', '.join(missing)}: "
            "pip install 'chatproof[server]', or name the URL of a server"
        )


@contextmanager
def child(module: str, options: Iterable[str], key: str) -> Iterator[Said]:
    """Runs a module that serves until the context ends, once it has said where; `key` goes into KEY_VARIABLE.

    Raises HarnessError when it ends before.
    """
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", KEY_VARIABLE: key, PARENT_VARIABLE: str(os.getpid())}
    with TemporaryFile("w+", encoding="utf-8") as words:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", module, *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
            start_new_session=True,
        )
        with process:
            try:
                yield _said(process, words)
            finally:
                process.terminate()
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def _said(process: subprocess.Popen[str], words: IO[str]) -> Said:
    """Reads up to the line that the server prints when it listens; what else it says is kept for an error."""
    before: list[str] = []
    watchdog = threading.Timer(START_S, process.kill)
    watchdog.start()
    try:
        for line in process.stdout or ():
            if found := ADDRESS.search(line):
                return Said(found.group(), tuple(before))
            before.append(line)
    finally:
        watchdog.cancel()
    process.wait()
    words.seek(0)
    last = [line.strip() for line in words if line.strip()][-1:] or [f"it ended with {process.returncode}"]
    raise HarnessError(f"the embedded server did not start: {last[0]}")
