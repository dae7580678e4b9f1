"""`chatproof faults serve`: every fault of every dialect over one engine and one socket, each at its own path."""

from __future__ import annotations

import json
import logging
import os
from contextlib import closing
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from openapi.contract.contract import load, names
from reference_server.faults.assembly import wrap_app, wrap_engine
from reference_server.faults.cached_engine import AnswerCache, CachedEngine
from reference_server.faults.fault_list import known_faults
from reference_server.http.app import create_app
from reference_server.http.server import Server, bind, tune_process
from reference_server.settings import Settings
from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from reference_server.engine import Engine

FAULTLESS: Final = "none"
SLOTS: Final = 20


CURRENT: Final[ContextVar[Engine]] = ContextVar("CURRENT")
"""The engine of the server that handles the current request."""


class CurrentEngine:
    """The engine with which every application is created: that of the current request's server, or the shared one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(CURRENT.get(self._engine), name)


@dataclass(frozen=True, slots=True)
class FaultyServer:
    """A server with a fault: its application and its engine."""

    app: ASGIApp
    engine: Engine


class FaultRouter:
    """One application for all faults. The server at /DIALECT/FAULT/ is created by the first request to it.

    key: the API key of dialects that use bearer keys.
    """

    def __init__(self, engine: Engine, key: str) -> None:
        self._engine = engine
        self._cache = AnswerCache()
        self._key = key
        self._apps: dict[str, ASGIApp] = {}
        self._servers: dict[tuple[str, str], FaultyServer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, dialect, fault, path = [*scope["path"].split("/", 3), "", "", ""][:4]
        server = self._server(dialect, fault)
        if server is None:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"unknown dialect or fault"})
            return
        CURRENT.set(server.engine)
        await server.app({**scope, "path": f"/{path}", "raw_path": f"/{path}".encode()}, receive, send)

    def _server(self, dialect: str, name: str) -> FaultyServer | None:
        if (dialect, name) not in self._servers:
            if dialect not in names().values() or (name != FAULTLESS and name not in known_faults(dialect)):
                return None
            faults = [] if name == FAULTLESS else [known_faults(dialect)[name]]
            app = wrap_app(self._app(dialect), load(dialect), faults)
            self._servers[dialect, name] = FaultyServer(
                app, wrap_engine(CachedEngine(self._engine, self._cache), faults)
            )
        return self._servers[dialect, name]

    def _app(self, dialect: str) -> ASGIApp:
        """The application of a dialect without faults."""
        if dialect not in self._apps:
            contract = load(dialect)
            key = self._key if contract.auth == "bearer" else None
            settings = Settings(model=contract.default_model, api_key=key)
            self._apps[dialect] = create_app(contract, CurrentEngine(self._engine), settings)
        return self._apps[dialect]


def as_data() -> list[dict[str, Any]]:
    """Return every fault as plain data, with the dialects whose contract covers it."""
    rows: dict[str, dict[str, Any]] = {}
    for dialect in dict.fromkeys(names().values()):
        for fault in known_faults(dialect).values():
            row = {
                "name": fault.name,
                "line": fault.line,
                "bugs": list(fault.bugs),
                "declares": list(fault.declares),
                "denies": list(fault.denies),
                "parameter": fault.parameter,
                "affects": fault.affects,
                "benign": fault.benign,
                "timeout_s": fault.timeout_s,
                "flaky": fault.flaky,
                "dialects": [],
            }
            rows.setdefault(fault.name, row)["dialects"].append(dialect)
    return list(rows.values())


@click.command(name="serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="Port; 0: any free port.")
@click.option("--api-key-env", metavar="VAR", help="Environment variable with the API key of dialects that use keys.")
def command(port: int, api_key_env: str | None) -> None:
    """Serve every dialect with every fault on the loopback interface: http://127.0.0.1:PORT/DIALECT/FAULT.

    The server without faults has the name `none`. The first line of output is the list of faults as JSON. The second
    line is printed when the server listens, and contains its address.
    """
    from reference_server.engine import LocalEngine

    logging.basicConfig(level=logging.CRITICAL)  # faults raise errors on purpose
    with bind("127.0.0.1", port) as listener:
        click.echo(json.dumps(as_data()))
        with closing(LocalEngine.load(CHECKPOINT, device="cpu", slots=SLOTS)) as engine:
            router = FaultRouter(engine, os.environ.get(api_key_env or "", "unguarded"))
            tune_process()
            server = Server(router, engine, lambda address: click.echo(f"chatproof hosting faults at {address}"))
            server.run_on(listener)
