"""Hosting: every fault of every dialect over one engine and one socket, each at a path of its own."""

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
from reference_server.faults.assembly import around, behind
from reference_server.faults.cached_engine import Memory, Remembering
from reference_server.faults.fault_list import known_faults
from reference_server.http.app import create_app
from reference_server.http.server import Server, bind, have_process_to_itself
from reference_server.settings import Settings
from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from reference_server.engine import Engine

FAULTLESS: Final = "none"
SLOTS: Final = 20


CURRENT: Final[ContextVar[Engine]] = ContextVar("CURRENT")
"""The engine of the server that is asked."""


class Current:
    """The engine that every application is made with: that of the server that is asked, else the shared one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(CURRENT.get(self._engine), name)


@dataclass(frozen=True, slots=True)
class Shown:
    """A server with its fault: the application, and the engine behind it."""

    app: ASGIApp
    engine: Engine


class Host:
    """One application for all: /DIALECT/FAULT/ is a server of its own, put together when it is first asked for.

    key: what dialects with bearer keys ask for.
    """

    def __init__(self, engine: Engine, key: str) -> None:
        self._engine = engine
        self._memory = Memory()
        self._key = key
        self._faultless: dict[str, ASGIApp] = {}
        self._shown: dict[tuple[str, str], Shown] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, dialect, fault, path = [*scope["path"].split("/", 3), "", "", ""][:4]
        shown = self._find(dialect, fault)
        if shown is None:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"there is no such dialect or fault"})
            return
        CURRENT.set(shown.engine)
        await shown.app({**scope, "path": f"/{path}", "raw_path": f"/{path}".encode()}, receive, send)

    def _find(self, dialect: str, name: str) -> Shown | None:
        if (dialect, name) not in self._shown:
            if dialect not in names().values() or (name != FAULTLESS and name not in known_faults(dialect)):
                return None
            faults = [] if name == FAULTLESS else [known_faults(dialect)[name]]
            app = around(self._app(dialect), load(dialect), faults)
            self._shown[dialect, name] = Shown(app, behind(Remembering(self._engine, self._memory), faults))
        return self._shown[dialect, name]

    def _app(self, dialect: str) -> ASGIApp:
        """The faultless server of a dialect."""
        if dialect not in self._faultless:
            contract = load(dialect)
            key = self._key if contract.auth == "bearer" else None
            settings = Settings(model=contract.default_model, api_key=key)
            self._faultless[dialect] = create_app(contract, Current(self._engine), settings)
        return self._faultless[dialect]


def as_data() -> list[dict[str, Any]]:
    """Every fault with the dialects that speak to it, as plain data."""
    rows: dict[str, dict[str, Any]] = {}
    for dialect in dict.fromkeys(names().values()):
        for fault in known_faults(dialect).values():
            row = {
                "name": fault.name,
                "line": fault.line,
                "bugs": list(fault.bugs),
                "declares": list(fault.declares),
                "denies": list(fault.denies),
                "about": fault.about,
                "shows": fault.shows,
                "benign": fault.benign,
                "patience_s": fault.patience_s,
                "restless": fault.restless,
                "dialects": [],
            }
            rows.setdefault(fault.name, row)["dialects"].append(dialect)
    return list(rows.values())


@click.command(name="serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="0: any free port.")
@click.option("--api-key-env", metavar="VAR", help="Variable with the key that dialects with keys ask for.")
def command(port: int, api_key_env: str | None) -> None:
    """Serve every dialect with every fault on the loopback: http://127.0.0.1:PORT/DIALECT/FAULT.

    The faultless server has the name `none`. The first line printed is the list of faults as JSON, the second one
    comes when the server listens, and holds its address.
    """
    from reference_server.engine import LocalEngine

    logging.basicConfig(level=logging.CRITICAL)  # faults make errors on purpose
    with bind("127.0.0.1", port) as listener:
        click.echo(json.dumps(as_data()))
        with closing(LocalEngine.load(CHECKPOINT, device="cpu", slots=SLOTS)) as engine:
            host = Host(engine, os.environ.get(api_key_env or "", "unguarded"))
            have_process_to_itself()
            Server(host, engine, lambda address: click.echo(f"chatproof hosting faults at {address}")).run_on(listener)
