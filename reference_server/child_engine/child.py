"""One child process that serves an engine on the loopback interface."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from reference_server.child_engine.output import ChildOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

HOST: Final = "127.0.0.1"
GUARD: Final = Path(__file__).parent / "guard.py"
OUTPUT_S: Final = 2.0
"""How long the rest of the output is waited for after the process ended; its own children may keep it open."""


class Child:
    """A running process, with its output. It is started in a process group of its own, so Ctrl-C does not reach it.

    It ends when the thread that starts it ends, so that thread has to live as long as it.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        *,
        prefix: str,
        write: Callable[[str], None],
        hidden: str,
        skipped: str,
    ) -> None:
        guarded = [sys.executable, "-I", str(GUARD), str(os.getpid()), *command]
        self._process = subprocess.Popen(  # noqa: S603 - the operator names the program
            guarded,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._output = ChildOutput(
            cast("IO[bytes]", self._process.stdout), prefix, write, hidden=hidden, skipped=skipped
        )

    @property
    def returncode(self) -> int | None:
        """The exit code, or minus the signal that ended it; None while it runs."""
        return self._process.poll()

    def explain(self) -> str:
        """Return how the process ended: its exit code or signal, and the line that may tell why."""
        code = self.returncode
        if code is not None and code < 0:  # which its output does not explain
            return f"ended by {_signal_name(-code)}"
        return f"ended with exit code {code}, {self._output.explain(OUTPUT_S)}"

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended; return whether it has."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.returncode is not None

    def stop(self, grace_s: float) -> None:
        """End it and all processes that it started: by SIGTERM, and after the grace period by SIGKILL."""
        self._signal(signal.SIGTERM)
        if not self.wait(grace_s):
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._signal(signal.SIGKILL)  # what it left behind

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def is_healthy(port: int, path: str, key: str, timeout_s: float) -> bool:
    """Return whether the server at a port answers a path with 200 in time."""
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
