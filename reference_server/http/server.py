"""A uvicorn server that announces its address, shuts down gracefully, and stops when its engine stops."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import uvicorn

from reference_server.http.byte_counts import ConnectionLimits
from reference_server.http.connection import BoundedConnection
from reference_server.http.idle_connections import IdleConnections, spare_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from openapi.contract.contract import ErrorTable
    from reference_server.engine import Engine

GRACE_S: Final = 20.0
"""Time that running responses get after SIGTERM or SIGINT before they are ended with an error."""

ERROR_DELIVERY_S: Final = 5.0
"""Time for those errors to reach the clients before the connections are closed."""

LISTEN_BACKLOG: Final = 2048
"""How many connections the operating system keeps until they are accepted."""

SWITCH_INTERVAL_S: Final = 0.0003
"""How long a thread may keep Python's global lock while another waits for it.

The engine's thread needs the lock for microseconds between two passes of the model. With Python's default of 5 ms it
would wait for the threads that read requests.
"""

PARENT_VARIABLE: Final = "CHATPROOF_PARENT"
"""Environment variable with the id of a parent process. The server stops when that process ends for any reason."""


class ServingError(Exception):
    """The server cannot start; the message is one line for the operator."""


class EngineStoppedError(ServingError):
    """The server had to stop because its engine stopped."""


def tune_process() -> None:
    """Configure Python for a process that only runs a server. Call it when everything is loaded."""
    # Exclude everything loaded so far from garbage collection. A full collection would pause every stream, and delay
    # the end of the process by 1 s.
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL_S)


def bind(host: str, port: int) -> socket.socket:
    """Return a bound socket that does not listen yet, so that an occupied port is reported before a model is loaded.

    port: 0 takes any free port. Raises ServingError.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # on Windows the option would let two servers share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        where = f"{host}:{port}"
        raise ServingError(f"cannot listen at {where} ({_reason(error)}): choose another --host or --port") from error
    return listener


class Server(uvicorn.Server):
    """A server for one application and one engine.

    announce: called with the server's address as soon as it listens.
    grace_s: time that running responses get after the server was asked to stop.
    limits: limits of every connection.
    max_connections: maximum number of open connections; None: as many as the limit of file descriptors allows.
    on_shutdown: called on the event loop when all responses have ended.
    errors: error table for failures before a request is complete.
    """

    def __init__(
        self,
        app: ASGIApp,
        engine: Engine,
        announce: Callable[[str], None],
        *,
        grace_s: float = GRACE_S,
        limits: ConnectionLimits | None = None,
        max_connections: int | None = None,
        on_shutdown: Callable[[], None] | None = None,
        errors: ErrorTable | None = None,
    ) -> None:
        limits = limits or ConnectionLimits()
        config = uvicorn.Config(
            app,
            http=partial(  # type: ignore[arg-type]  # uvicorn only calls it
                BoundedConnection, limits=limits, errors=errors, connections=IdleConnections(max_connections)
            ),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            backlog=max(1, spare_descriptors() // 8),  # how many connections asyncio accepts before it closes any
            server_header=False,
            timeout_keep_alive=round(limits.idle_s),
            timeout_graceful_shutdown=round(grace_s + ERROR_DELIVERY_S),
        )
        super().__init__(config)
        self._engine = engine
        self._announce = announce
        self._grace_s = grace_s
        self._on_shutdown = on_shutdown
        self._engine_stopped = False
        self._parent = os.environ.get(PARENT_VARIABLE)

    def run_on(self, listener: socket.socket) -> None:
        """Serve until asked to stop; raise ServingError if the server cannot listen or its engine stops."""
        try:
            self.run(sockets=[listener])
        except OSError as error:  # another process took the port between bind and listen
            raise ServingError(f"cannot listen ({_reason(error)}): choose another --port") from error
        if self._engine_stopped:
            raise EngineStoppedError("the engine stopped, so the server stopped too: see the log, then restart it")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            listener.listen(LISTEN_BACKLOG)
            self._announce(_address(listener))

    async def on_tick(self, counter: int) -> bool:
        """Return whether to stop; uvicorn calls this ten times a second."""
        self._engine_stopped = self._engine.dead
        orphaned = self._parent is not None and str(os.getppid()) != self._parent
        return await super().on_tick(counter) or self._engine_stopped or orphaned

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new requests, give running responses the grace period, then end them by closing the engine.

        If the engine has stopped, no response can finish, so the grace period ends at once.
        """
        loop = asyncio.get_running_loop()
        grace_s = 0.0 if self._engine_stopped else self._grace_s
        end = loop.call_later(grace_s, loop.run_in_executor, None, self._engine.close)
        try:
            await super().shutdown(sockets=sockets)
        finally:
            end.cancel()
            if self._on_shutdown is not None:
                self._on_shutdown()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals like uvicorn, except that a handled signal is not raised again.

        If it were, the exit status would report a crash.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers = {name: signal.signal(name, self.handle_exit) for name in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for name, handler in handlers.items():
                signal.signal(name, handler)


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
