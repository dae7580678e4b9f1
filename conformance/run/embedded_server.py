"""Run the reference server as a child process, so that it is tested through its URL like any other server."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from conformance.client import curl as client_curl
from conformance.errors import HarnessError, UsageError
from conformance.plan.media import media_folder
from openapi.contract.contract import name_of
from openapi.python_child import python_command, python_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openapi.contract.contract import Contract

START_S = 180.0  # a cold disk and two busy cores
STOP_S = 10.0
KEY_VARIABLE = "CHATPROOF_EMBEDDED_KEY"
PARENT_VARIABLE = "CHATPROOF_PARENT"  # the server ends with this process, even if that is killed
ADDRESS = re.compile(r"http://[\w.\[\]:]+")
ORIGIN = "https://chatproof.example"  # the origin that the scenario `cors` sends, so that its checks apply
MEDIA_HOST = "127.0.0.1"  # from which the embedded server may fetch media
MEDIA_PATH = "/"  # the folder of the media files, which is its --media-root
EXAMPLE_KEY = "any-key-of-yours"
NEEDED = ("torch", "transformers", "fastapi", "uvicorn")


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    """A running server: its address, and the API key that it requires ("" if it requires none)."""

    url: str
    key: str


@dataclass(frozen=True, slots=True)
class StartupOutput:
    """The output of a server up to the line with its address, and whether it still runs."""

    address: str
    lines: tuple[str, ...]
    is_running: Callable[[], bool]


@contextmanager
def serve(contract: Contract) -> Iterator[EmbeddedServer]:
    """Start the reference server for a contract on a free port of the loopback interface, and stop it afterwards.

    Raises UsageError if the packages of the server are not installed, HarnessError if it does not start.
    """
    require_packages()
    key = secrets.token_urlsafe(24) if contract.auth == "bearer" else ""
    options = _list_options(contract, 0, KEY_VARIABLE)
    with run_module("reference_server", options, key) as startup:
        yield EmbeddedServer(startup.address, key)


def list_restart_commands(contract: Contract, server: EmbeddedServer) -> list[str]:
    """Return the shell commands that serve a contract again at the address of a server that has ended."""
    options = _list_options(contract, urlsplit(server.url).port or 0, client_curl.KEY_VARIABLE)
    key = [f"export {client_curl.KEY_VARIABLE}={EXAMPLE_KEY}"] if server.key else []
    return [*key, f"chatproof serve {shlex.join(options)}"]


def _list_options(contract: Contract, port: int, key_variable: str) -> list[str]:
    """Return the options with which `chatproof serve` serves a contract to the suite. port: 0 for any free one."""
    options = ["--dialect", name_of(contract), "--host", "127.0.0.1", "--port", str(port), "--allow-origin", ORIGIN]
    options += ["--media-domain", MEDIA_HOST, "--media-root", str(media_folder())]
    return [*options, "--api-key-env", key_variable] if contract.auth == "bearer" else options


def require_packages() -> None:
    """Raise UsageError if the packages of the server are not installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"the embedded server needs {', '.join(missing)}: "
            "install chatproof with its extra [server], or give the URL of a server"
        )


@contextmanager
def run_module(module: str, options: Iterable[str], key: str) -> Iterator[StartupOutput]:
    """Run a module that serves until the context ends, and wait until it prints its address.

    `key` is passed in the environment variable KEY_VARIABLE. Raises HarnessError if the module ends too early.
    """
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", KEY_VARIABLE: key, PARENT_VARIABLE: str(os.getpid())}
    with TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [*python_command(module), *options],
            env=python_environment(environment),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        with process:
            try:
                yield _wait_for_address(process, errors)
            finally:
                process.terminate()
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def _wait_for_address(process: subprocess.Popen[str], errors: IO[str]) -> StartupOutput:
    """Read the output up to the line that the server prints when it listens; `errors` is its standard error."""
    lines: list[str] = []
    watchdog = threading.Timer(START_S, process.kill)
    watchdog.start()
    try:
        for line in process.stdout or ():
            if match := ADDRESS.search(line):
                return StartupOutput(match.group(), tuple(lines), lambda: process.poll() is None)
            lines.append(line)
    finally:
        watchdog.cancel()
    process.wait()
    errors.seek(0)
    last = [line.strip() for line in errors if line.strip()][-1:] or [f"it ended with exit code {process.returncode}"]
    raise HarnessError(f"the embedded server did not start: {last[0]}")
