"""`chatproof faults serve`: every fault and mode of every dialect over one engine and one socket, by path."""

from __future__ import annotations

import json
import logging
import os
from collections import OrderedDict
from contextlib import closing
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from openapi.contract.contract import load, names
from openapi.contract.tree.yaml_file import ContractError
from openapi.perturbation.perturbation import from_text
from reference_server.faults.assembly import wrap_app, wrap_engine
from reference_server.faults.cached_engine import AnswerCache, CachedEngine
from reference_server.faults.fault_list import known_faults
from reference_server.faults.modes import ServerMode, Undescribed, list_modes
from reference_server.http.app import create_app
from reference_server.http.server import Server, bind, tune_process
from reference_server.settings import MediaSources, Settings
from reference_server.tiny.vision import VISION_CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from reference_server.engine import Engine

MEDIA_DOMAINS: Final = frozenset({"127.0.0.1"})  # where the suite serves media files
FAULTLESS: Final = "none"
SLOTS: Final = 20
VARIANT: Final = "variant."
"""In front of the name of a variant of a dialect, in place of a dialect."""
MAX_VARIANTS: Final = 16  # servers of variants that are kept


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
    """One application for all faults and modes. The server at /DIALECT/NAME/ is created by the first request to it.

    A variant of a dialect has no faults and modes; its server is at /variant.NAME/none/.

    key: the API key of dialects and modes that use bearer keys.
    dialects: the location of each dialect by its id; None for the built-in ones.
    media_root: folder of local media files.
    """

    def __init__(
        self, engine: Engine, key: str, dialects: Mapping[str, str] | None = None, media_root: Path | None = None
    ) -> None:
        self._engine = engine
        self._media_root = media_root
        self._dialects = {name: name for name in names().values()} if dialects is None else dialects
        self._cache = AnswerCache()
        self._key = key
        self._apps: dict[str, ASGIApp] = {}
        self._servers: dict[tuple[str, str], FaultyServer] = {}
        self._variants: OrderedDict[str, FaultyServer] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, dialect, fault, path = [*scope["path"].split("/", 3), "", "", ""][:4]
        server = self._server(self._dialects.get(dialect, dialect), fault)
        if server is None:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"unknown dialect or fault"})
            return
        CURRENT.set(server.engine)
        raw_path = b"/" + (scope.get("raw_path") or scope["path"].encode()).split(b"/", 3)[-1]
        await server.app({**scope, "path": f"/{path}", "raw_path": raw_path}, receive, send)

    def _server(self, dialect: str, name: str) -> FaultyServer | None:
        if dialect.startswith(VARIANT) and name == FAULTLESS:
            return self._variant(dialect.removeprefix(VARIANT))
        if (dialect, name) not in self._servers:
            if dialect not in self._dialects.values():
                return None
            engine = CachedEngine(self._engine, self._cache)
            if (mode := list_modes(load(dialect)).get(name)) is not None:
                app: ASGIApp = create_app(load(dialect), CurrentEngine(self._engine), self._settings(dialect, mode))
                self._servers[dialect, name] = FaultyServer(app if mode.described else Undescribed(app), engine)
                return self._servers[dialect, name]
            if name != FAULTLESS and name not in known_faults(dialect):
                return None
            faults = [] if name == FAULTLESS else [known_faults(dialect)[name]]
            app = wrap_app(self._app(dialect), load(dialect), faults)
            self._servers[dialect, name] = FaultyServer(app, wrap_engine(engine, faults))
        return self._servers[dialect, name]

    def _variant(self, name: str) -> FaultyServer | None:
        """The server of a variant; None if the variant cannot be built."""
        if name not in self._variants:
            try:
                variant = from_text(name)
                contract = variant.build()
            except ContractError:
                return None
            key = self._key if contract.auth == "bearer" else None
            settings = Settings(model=contract.default_model, api_key=key, lacking=variant.lacking)
            app = create_app(contract, CurrentEngine(self._engine), settings)
            self._variants[name] = FaultyServer(app, CachedEngine(self._engine, self._cache))
            if len(self._variants) > MAX_VARIANTS:
                self._variants.popitem(last=False)
        self._variants.move_to_end(name)
        return self._variants[name]

    def _app(self, dialect: str) -> ASGIApp:
        """The application of a dialect without faults."""
        if dialect not in self._apps:
            contract = load(dialect)
            mode = ServerMode(FAULTLESS, key=contract.auth == "bearer")
            self._apps[dialect] = create_app(contract, CurrentEngine(self._engine), self._settings(dialect, mode))
        return self._apps[dialect]

    def _settings(self, dialect: str, mode: ServerMode) -> Settings:
        return Settings(
            model=load(dialect).default_model,
            api_key=self._key if mode.key else None,
            full_text=mode.full_text,
            lacking=mode.lacking,
            media=MediaSources(self._media_root, MEDIA_DOMAINS),
        )


def modes_as_data(dialects: Iterable[str]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the modes of dialects, by their locations, as plain data."""
    return {dialect: [mode.as_data() for mode in list_modes(load(dialect)).values()] for dialect in dialects}


def faults_as_data(dialects: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Return every fault as plain data, with the dialects, by their locations, whose contract covers it."""
    rows: dict[str, dict[str, Any]] = {}
    for dialect in dict.fromkeys(names().values() if dialects is None else dialects):
        for fault in known_faults(dialect).values():
            row = {
                "name": fault.name,
                "line": fault.line,
                "bugs": list(fault.bugs),
                "declares": list(fault.declares),
                "denies": list(fault.denies),
                "parameter": fault.parameter,
                "shows_in": fault.shows_in,
                "affects": fault.affects,
                "benign": fault.benign,
                "timeout_s": fault.timeout_s,
                "flaky": fault.flaky,
                "origin": fault.origin,
                "group": fault.group,
                "dialects": [],
            }
            rows.setdefault(fault.name, row)["dialects"].append(dialect)
    return list(rows.values())


@click.command(name="serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="Port; 0: any free port.")
@click.option("--api-key-env", metavar="VAR", help="Environment variable with the API key of dialects that use keys.")
@click.option("--dialect", "own", multiple=True, metavar="FILE", help="Also serve this dialect. Repeatable.")
@click.option("--media-root", type=click.Path(path_type=Path), help="Folder of local media files.")
def command(port: int, api_key_env: str | None, own: tuple[str, ...], media_root: Path | None) -> None:
    """Serve every dialect with every fault on the loopback interface: http://127.0.0.1:PORT/DIALECT/FAULT.

    The server without faults has the name `none`, and the faultless server in one of its modes that of the mode. The
    first line of output is a JSON object with `faults` and `modes`. The second line is printed when the server listens,
    and contains its address.
    """
    from reference_server.engine import LocalEngine

    logging.basicConfig(level=logging.CRITICAL)  # faults raise errors on purpose
    try:
        dialects = {load(name).name: load(name).location for name in (*dict.fromkeys(names().values()), *own)}
    except ContractError as error:
        raise click.UsageError(f"--dialect: {error}") from error
    with bind("127.0.0.1", port) as listener:
        listed = list(dialects.values())
        click.echo(json.dumps({"faults": faults_as_data(listed), "modes": modes_as_data(listed)}))
        with closing(LocalEngine.load(VISION_CHECKPOINT, device="cpu", slots=SLOTS)) as engine:
            router = FaultRouter(engine, os.environ.get(api_key_env or "", "unguarded"), dialects, media_root)
            tune_process()
            server = Server(router, engine, lambda address: click.echo(f"chatproof hosting faults at {address}"))
            server.run_on(listener)
