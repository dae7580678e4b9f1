"""Supervise the replicas of an engine: start all, wait until they are ready, keep them running, and stop them."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import click

from reference_server.child_engine.child import HOST
from reference_server.child_engine.failure import EngineProgramError
from reference_server.child_engine.replica import Launch, Replica, WatchTimes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from reference_server.child_engine.program import EngineProgram

POLL_S: Final = 0.2


class Supervisor:
    """The replicas of an engine, and the key that only this process and they know.

    own_arguments, own_variables: those of the user; {replica} in them is the number of the replica, from 0.
    """

    def __init__(
        self,
        program: EngineProgram,
        executable: str,
        *,
        checkpoint: str,
        model: str,
        own_arguments: Sequence[str] = (),
        own_variables: Mapping[str, str] | None = None,
        replicas: int = 1,
        times: WatchTimes | None = None,
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.key = secrets.token_urlsafe(24)
        self._log = log or _write_to_stderr
        self._on_failure: Callable[[], None] = _do_nothing
        ports = find_free_ports(replicas)
        self.urls = tuple(f"http://{HOST}:{port}" for port in ports)
        self._replicas: list[Replica] = []
        for number, port in enumerate(ports):
            values = {"checkpoint": checkpoint, "model": model, "port": str(port), "key": self.key}
            own = [_fill(argument, {"replica": str(number)}) for argument in own_arguments]
            command = [executable, *(_fill(argument, values) for argument in program.arguments), *own]
            variables = {name: _fill(value, values) for name, value in program.variables.items()}
            variables |= {name: _fill(value, {"replica": str(number)}) for name, value in (own_variables or {}).items()}
            label = program.name if replicas == 1 else f"{program.name} {number + 1}"
            launch = Launch(label, command, variables, port, self.key, program.health)
            self._replicas.append(Replica(launch, times or WatchTimes(), self._log, self._report_end))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the replicas: start them, wait until all are ready, and stop them at the end.

        Raises EngineProgramError if one does not become ready.
        """
        try:
            with _exit_on_sigterm():
                self._start()
            yield
        finally:
            self._stop()

    def on_failure(self, call: Callable[[], None]) -> None:
        """Set what is called, from another thread, when no replica will ever serve again."""
        self._on_failure = call
        self._tell_if_all_ended()

    def _start(self) -> None:
        for replica in self._replicas:
            shown = " ".join(replica.launch.command).replace(self.key, "***")
            self._log(f"chatproof starting {replica.name}: {shown}")
            replica.start()
        while not all(replica.settled.is_set() for replica in self._replicas):
            for replica in self._replicas:
                replica.settled.wait(POLL_S)
                if replica.failure is not None:
                    raise EngineProgramError(replica.failure)
        for replica in self._replicas:
            if replica.failure is not None:
                raise EngineProgramError(replica.failure)

    def _stop(self) -> None:
        for replica in self._replicas:
            replica.stop()
        for replica in self._replicas:
            if replica.ident is not None:
                replica.join()

    def _report_end(self, ended: Replica) -> None:
        self._log(f"chatproof gave up: {ended.failure}")
        self._tell_if_all_ended()

    def _tell_if_all_ended(self) -> None:
        if all(replica.failure is not None for replica in self._replicas):
            self._on_failure()


def find_free_ports(count: int) -> list[int]:
    """Return different ports of the loopback interface that no process listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise SystemExit meanwhile, so that the processes are stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Fill in the values; other braces stay, because arguments may be JSON."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _write_to_stderr(line: str) -> None:
    with suppress(OSError, ValueError):  # the reader has gone
        click.echo(line, err=True)


def _do_nothing() -> None:
    """Do nothing: no one has asked to be told."""
