"""Serving: the checks before a server starts, and the command that starts one."""

from __future__ import annotations

import logging
import os
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from openapi.contract.contract import ContractError, load
from reference_server.engine import CheckpointError
from reference_server.faults import fault_list as listing
from reference_server.faults.assembly import with_faults
from reference_server.faults.fault import UnknownFault, chosen
from reference_server.http.app import create_app
from reference_server.http.server import GRACE_S, EngineStoppedError, Server, ServingError, bind, have_process_to_itself
from reference_server.settings import Settings
from reference_server.tiny import CHECKPOINT
from reference_server.upstream.options import Upstreams, UpstreamSettingsError, open_upstreams, upstream_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine, LocalEngine

__all__ = ["ServingError", "Settings", "command", "serve"]

OF_MODELS: Final = (
    "checkpoint",
    "device",
    "dtype",
    "max_model_len",
    "max_new_tokens",
    "prefill_tokens",
    "prefix_reuse",
)
OF_UPSTREAMS: Final = ("upstream_kind", "upstream_model", "upstream_key_env", "upstream_timeout")

LIST: Final = "list"  # in place of a fault's name

VISIBLE: Final = re.compile(r"[!-~]+")  # ASCII without spaces

ORIGIN: Final = re.compile(r"\*|https?://([a-z0-9._-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")  # as browsers write it: no path


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
    """Serves until SIGTERM or SIGINT. The engine stays the caller's; once it stops, ServingError is raised.

    port: 0 takes any free one. announce: called with the server's address as soon as it listens.
    """
    check(contract, settings)
    with bind(host, port) as listener:
        app = create_app(contract, engine, settings)
        Server(app, engine, announce, grace_s=grace_s, errors=contract.errors).run_on(listener)


def check(contract: Contract, settings: Settings) -> None:
    """Raises ServingError for settings that the dialect cannot be served with."""
    if contract.auth == "bearer" and settings.api_key is None:
        raise ServingError(f"{contract.name} asks every client for a key: name its variable with --api-key-env")
    if settings.api_key is not None and not VISIBLE.fullmatch(settings.api_key):
        raise ServingError("the API key is empty or holds what no header can carry: use visible ASCII characters")
    for origin in settings.origins:
        if not ORIGIN.fullmatch(origin):
            raise ServingError(f"{origin!r} is no origin: write scheme, host and port alone, as in https://host:8443")
    if settings.full_text and contract.stream.full_text == "never":
        raise ServingError(f"{contract.name} has no full-text mode: leave --full-text out")


class Refusal(click.ClickException):
    """One line on stderr: the server could not start."""

    exit_code = 2


class Stop(click.ClickException):
    """One line on stderr: the server was running and had to end."""

    exit_code = 1


@click.command(name="serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--dialect", metavar="NAME", help="Which documented API to serve. Required.")
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
@click.option(
    "--slots",
    default=20,
    show_default=True,
    type=click.IntRange(1),
    help="Sequences generated at once; a beam search takes one for each beam.",
)
@click.option(
    "--max-waiting",
    default=64,
    show_default=True,
    type=click.IntRange(0),
    help="Requests beyond the slots; one more gets 503.",
)
@click.option("--max-model-len", type=click.IntRange(2), help="Prompt and generated tokens together.")
@click.option("--max-new-tokens", type=click.IntRange(1), help="Cap on generated tokens.")
@click.option(
    "--prefill-tokens",
    default=256,
    show_default=True,
    type=click.IntRange(16),
    help="A longer prompt goes through the model in chunks of so many tokens, between the steps of running answers.",
)
@click.option(
    "--prefix-reuse/--no-prefix-reuse",
    default=True,
    show_default=True,
    help="Whether a prompt takes over what another one with the same beginning has left in the cache.",
)
@click.option("--api-key-env", metavar="VAR", help="Environment variable that holds the key clients must send.")
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Pages of this origin may call the server in a browser, as in https://host:port; * for all. Repeatable.",
)
@click.option("--full-text", is_flag=True, help="Every chunk of a stream holds the whole text so far (MindIE).")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    help="Misbehave on purpose; `list` prints the names. Repeatable.",
)
@upstream_options
def command(
    dialect: str | None,
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
    prefill_tokens: int,
    prefix_reuse: bool,
    api_key_env: str | None,
    origins: tuple[str, ...],
    full_text: bool,
    faults: tuple[str, ...],
    upstreams: Upstreams,
) -> None:
    """Serve a dialect as its documents say, and print one line when listening."""
    if LIST in faults:
        listing.show(listing.all_faults() if dialect is None else listing.known_faults(load(dialect).name))
        return
    if dialect is None:
        raise click.UsageError("name the API to serve with --dialect")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        _refuse_idle(OF_MODELS if upstreams.urls else OF_UPSTREAMS, upstreams=bool(upstreams.urls))
        contract = load(dialect)
        settings = Settings(
            model=model or contract.default_model,
            api_key=_key(api_key_env),
            full_text=full_text,
            max_in_flight=slots + max_waiting,
            origins=origins,
        )
        check(contract, settings)
        shown = chosen(faults, listing.known_faults(contract.name)) if faults else ()
        with bind(host, port) as listener:
            engine: Engine
            farewell: Callable[[], None] | None = None
            if upstreams.urls:
                engine, contract, place = open_upstreams(upstreams, contract, settings.model)
                farewell = engine.balance.close
            else:
                engine, place = _load_engine(
                    checkpoint or CHECKPOINT,
                    device,
                    dtype=dtype,
                    slots=slots,
                    max_model_len=max_model_len,
                    max_new_tokens=max_new_tokens,
                    prefill_tokens=prefill_tokens,
                    prefix_reuse=prefix_reuse,
                )

            def announce(address: str) -> None:
                click.echo(f"chatproof serving {contract.name} (model {settings.model}, {place}) at {address}")

            with closing(engine):
                app = with_faults(contract, engine, settings, shown)
                have_process_to_itself()
                Server(app, engine, announce, farewell=farewell, errors=contract.errors).run_on(listener)
    except EngineStoppedError as error:
        raise Stop(str(error)) from error
    except (ContractError, ServingError, UnknownFault, UpstreamSettingsError) as error:
        raise Refusal(str(error)) from error


def _refuse_idle(names: tuple[str, ...], *, upstreams: bool) -> None:
    """Raises ServingError for an option that would do nothing. upstreams: whether some were named."""
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in names and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            why = "no model is loaded with --upstream" if upstreams else "no --upstream was named"
            raise ServingError(f"{option.opts[0]} does nothing where {why}: leave one of them out")


def _load_engine(checkpoint: Path, device: str, **options: Any) -> tuple[LocalEngine, str]:
    """The engine and its device by name; raises ServingError with the engine's own words."""
    from reference_server.engine import LocalEngine  # seconds of imports, after all that is quickly told
    from reference_server.engine.device import select_device

    try:
        place = str(select_device(device))
        return LocalEngine.load(checkpoint, device=place, **options), place
    except (CheckpointError, ValueError) as error:
        raise ServingError(str(error)) from error


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not key:
        raise ServingError(f"--api-key-env names {variable}, which is not set: set it to the key clients must send")
    return key
