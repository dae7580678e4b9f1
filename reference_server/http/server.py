"""Server: uvicorn that says when it listens, ends in order, and does not outlive its engine."""

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

from reference_server.http.connection import BoundedConnection, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from openapi.contract.contract import ErrorTable
    from reference_server.engine import Engine

GRACE_S: Final = 20.0
"""How long answers may go on after SIGTERM or SIGINT before they are ended with an error."""

LAST_WORDS_S: Final = 5.0
"""Time for those errors to reach their clients, before the connections are cut."""

SWITCH_S: Final = 0.0003
"""How long a thread may keep Python's lock while another waits for it. The engine's thread needs the lock for
microseconds between two passes of the model, and at Python's own 5 ms would wait for threads that read requests."""

PARENT_VARIABLE: Final = "CHATPROOF_PARENT"
"""Environment variable that holds the process whose end, however it comes, is the server's too."""


class ServingError(Exception):
    """The server cannot be started: one line for the operator."""


class EngineStoppedError(ServingError):
    """The server was running and had to end."""


def have_process_to_itself() -> None:
    """Sets Python up for a process that is a server and nothing else. To be called when everything is loaded."""
    # What is loaded stays: a collection that walked it all would hold up every stream, and the process's end by 1 s.
    gc.freeze()
    sys.setswitchinterval(SWITCH_S)


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to an address, not yet listening, so that a taken port is known before a model is loaded.

    port: 0 takes any free one. Raises ServingError.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # elsewhere the option lets two servers share a port
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
    """One application over one engine.

    grace_s: how long answers may go on once the server was told to end. announce: called with the server's address
    as soon as it listens. limits: bounds of every connection. farewell: called on the loop once all answers are over.
    errors: the envelope of what is refused before it is a request.
    """

    def __init__(
        self,
        app: ASGIApp,
        engine: Engine,
        announce: Callable[[str], None],
        *,
        grace_s: float = GRACE_S,
        limits: Limits | None = None,
        farewell: Callable[[], None] | None = None,
        errors: ErrorTable | None = None,
    ) -> None:
        limits = limits or Limits()
        config = uvicorn.Config(
            app,
            http=partial(BoundedConnection, limits=limits, errors=errors),  # type: ignore[arg-type]  # uvicorn only calls it
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=round(limits.idle_s),
            timeout_graceful_shutdown=round(grace_s + LAST_WORDS_S),
        )
        super().__init__(config)
        self._engine = engine
        self._announce = announce
        self._grace_s = grace_s
        self._farewell = farewell
        self._engine_stopped = False
        self._parent = os.environ.get(PARENT_VARIABLE)

    def run_on(self, listener: socket.socket) -> None:
        """Serves until it is told to end; raises ServingError when it cannot listen or its engine stops."""
        try:
            self.run(sockets=[listener])
        except OSError as error:  # the port was taken between bind and listen
            raise ServingError(f"cannot listen ({_reason(error)}): choose another --port") from error
        if self._engine_stopped:
            raise EngineStoppedError("the engine stopped, so the server did too: its log says why; start it again")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            self._announce(_address(listener))

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second; whether to end."""
        self._engine_stopped = self._engine.dead
        orphaned = self._parent is not None and str(os.getppid()) != self._parent
        return await super().on_tick(counter) or self._engine_stopped or orphaned

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Takes no new requests, lets answers go on for the grace, then ends them by closing the engine."""
        loop = asyncio.get_running_loop()
        end = loop.call_later(self._grace_s, loop.run_in_executor, None, self._engine.close)
        try:
            await super().shutdown(sockets=sockets)
        finally:
            end.cancel()
            if self._farewell is not None:
                self._farewell()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but a signal that was obeyed is not raised again: the exit status would call it a crash."""
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
