"""Serving: a socket bound, an engine loaded, one plain line once it listens, and an orderly end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click
import uvicorn

from openapi.contract import ContractError, load
from reference_server.app import create_app
from reference_server.engine import CheckpointError
from reference_server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract import Contract
    from reference_server.engine import Engine

__all__ = ["ServingError", "Settings", "command", "serve"]

GRACE_S = 20.0
"""How long answers may go on after SIGTERM or SIGINT before they are ended with an error."""

LAST_WORDS_S = 5.0
"""Time for those errors to reach their clients, before the connections are cut."""

KEEP_ALIVE_S = 75
"""How long an idle connection stays open: longer than clients keep theirs, so that none meets a closing one."""


class ServingError(Exception):
    """The server cannot start, or had to stop: one line for the operator."""


def serve(
    contract: Contract,
    engine: Engine,
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    grace_s: float = GRACE_S,
    announce: Callable[[str], None] = click.echo,
) -> None:
    """Serves until SIGTERM or SIGINT. The engine stays the caller's; once it dies, ServingError is raised.

    port: 0 takes any free one. announce: called with the server's address as soon as it listens.
    """
    check(contract, settings)
    listener = bind(host, port)
    run(server(contract, engine, settings, grace_s=grace_s, announce=announce), listener)


def check(contract: Contract, settings: Settings) -> None:
    """Raises ServingError for settings that the dialect cannot be served with."""
    if contract.auth == "bearer" and settings.api_key is None:
        raise ServingError(f"{contract.name} asks every client for a key: name its variable with --api-key-env")
    if settings.api_key is not None and not (settings.api_key.isascii() and settings.api_key.isprintable()):
        raise ServingError("the API key holds a character that a header cannot carry: use visible ASCII")
    if settings.full_text and contract.stream.full_text == "never":
        raise ServingError(f"{contract.name} has no full-text mode: leave --full-text out")


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to an address, not yet listening, so that a taken port is known before a model is loaded."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        if os.name == "posix":  # elsewhere the option lets two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise ServingError(
            f"cannot listen at {host}:{port} ({_reason(error)}): choose another --host or --port"
        ) from error
    return listener


def server(
    contract: Contract,
    engine: Engine,
    settings: Settings,
    *,
    grace_s: float = GRACE_S,
    announce: Callable[[str], None] = click.echo,
) -> Server:
    """The server of one contract, ready to run."""
    config = uvicorn.Config(
        create_app(contract, engine, settings),
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=round(grace_s + LAST_WORDS_S),
    )
    return Server(config, engine, grace_s, announce)


def run(server: Server, listener: socket.socket) -> None:
    """Runs a server until it is told to end; raises ServingError when it cannot listen or its engine dies."""
    try:
        server.run(sockets=[listener])
    except OSError as error:  # the port was taken between bind and listen
        raise ServingError(f"cannot listen ({_reason(error)}): choose another --port") from error
    if server.engine_died:
        raise ServingError("the engine stopped, so the server did too: its log says why; start it again")


class Server(uvicorn.Server):
    """uvicorn that says when it listens, ends with status 0 on a signal, and does not outlive its engine."""

    def __init__(self, config: uvicorn.Config, engine: Engine, grace_s: float, announce: Callable[[str], None]) -> None:
        super().__init__(config)
        self.engine_died = False
        self._engine = engine
        self._grace_s = grace_s
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            self._announce(_address(listener))

    async def on_tick(self, counter: int) -> bool:
        self.engine_died = not self._engine.alive
        return await super().on_tick(counter) or self.engine_died

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Takes no new requests, lets answers go on for the grace, then ends them by closing the engine."""
        loop = asyncio.get_running_loop()
        end = loop.call_later(self._grace_s, loop.run_in_executor, None, self._engine.close)
        try:
            await super().shutdown(sockets=sockets)
        finally:
            end.cancel()

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


class Refusal(click.ClickException):
    """One line on stderr, exit code 2: the server did not start."""

    exit_code = 2


class Stop(click.ClickException):
    """One line on stderr, exit code 1: the server started and had to stop."""

    exit_code = 1


@click.command(name="serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--dialect", required=True, metavar="NAME", help="Which documented API to serve.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Model in transformers' format. Default: the embedded one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0: any free port.")
@click.option("--model", metavar="NAME", help="Name that requests must use. Default: the dialect's own.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, npu, ...")
@click.option("--dtype", default="auto", show_default=True, help="auto, float32, bfloat16 or float16.")
@click.option("--slots", default=16, show_default=True, type=click.IntRange(1), help="Sequences generated at once.")
@click.option(
    "--max-waiting",
    default=64,
    show_default=True,
    type=click.IntRange(0),
    help="Requests beyond the slots; one more gets 503.",
)
@click.option("--max-model-len", type=click.IntRange(2), help="Prompt and generated tokens together.")
@click.option("--max-new-tokens", type=click.IntRange(1), help="Cap on generated tokens.")
@click.option("--api-key-env", metavar="VAR", help="Environment variable that holds the key clients must send.")
@click.option("--full-text", is_flag=True, help="Every chunk of a stream holds the whole text so far (MindIE).")
def command(
    dialect: str,
    checkpoint: Path | None,
    host: str,
    port: int,
    model: str | None,
    device: str,
    dtype: str,
    slots: int,
    max_waiting: int,
    max_model_len: int | None,
    max_new_tokens: int | None,
    api_key_env: str | None,
    full_text: bool,
) -> None:
    """Serve a dialect as its documents say, and print one line when listening."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        contract = load(dialect)
        settings = Settings(
            model=model or contract.default_model,
            api_key=_key(api_key_env),
            full_text=full_text,
            max_in_flight=slots + max_waiting,
        )
        check(contract, settings)
        listener = bind(host, port)
        from reference_server.engine import LocalEngine
        from reference_server.engine.device import select_device

        place = select_device(device)
        engine = LocalEngine.load(
            checkpoint or EMBEDDED,
            device=str(place),
            dtype=dtype,
            slots=slots,
            max_model_len=max_model_len,
            max_new_tokens=max_new_tokens,
        )
    except (ContractError, ServingError, CheckpointError, ValueError) as error:
        raise Refusal(str(error)) from error

    def announce(address: str) -> None:
        click.echo(f"chatproof serving {contract.name} (model {settings.model}, {place}) at {address}")

    try:
        run(server(contract, engine, settings, announce=announce), listener)
    except ServingError as error:
        raise Stop(str(error)) from error
    finally:
        engine.close()


EMBEDDED = Path(str(files("reference_server"))) / "tiny" / "checkpoint"


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not key:
        raise ServingError(f"--api-key-env names {variable}, which is not set: set it to the key clients must send")
    return key
