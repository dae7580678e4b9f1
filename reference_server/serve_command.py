"""The command `chatproof serve`."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from openapi.api_key import ApiKeyError, read_api_key
from openapi.contract.contract import ContractError, load
from reference_server.child_engine.failure import EngineProgramError
from reference_server.child_engine.options import NAMES as ENGINE_OPTIONS
from reference_server.child_engine.options import EngineOptions, engine_options, make_supervisor
from reference_server.faults import fault_list as listing
from reference_server.faults.assembly import create_faulty_app
from reference_server.faults.registry import UnknownFaultError, select_faults
from reference_server.http.server import EngineStoppedError, Server, ServingError, bind, tune_process
from reference_server.model_options import ONLY_LOCAL, ModelOptions, load_engine, model_options
from reference_server.serving import check_settings
from reference_server.settings import MediaSources, Settings
from reference_server.tiny.vision import VISION_CHECKPOINT
from reference_server.upstream.options import UpstreamOptions, UpstreamSettingsError, open_upstreams, upstream_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import Engine

UPSTREAM_OPTIONS: Final = (
    "upstream_kind",
    "upstream_model",
    "upstream_key_env",
    "upstream_timeout",
    "upstream_context",
)

WARM_UP_LOG: Final = "reference_server.engine.model.accelerator.warm_up"

LIST: Final = "list"  # a value of --fault that prints the names


class StartupFailed(click.ClickException):
    """The server could not start; reported as one line on stderr."""

    exit_code = 2


class ServerStopped(click.ClickException):
    """The server was running and had to stop; reported as one line on stderr."""

    exit_code = 1


@click.command(name="serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--dialect", metavar="NAME", help="Dialect to serve. Required.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Model in transformers' format (default: the embedded model).",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes any free port."
)
@click.option("--model", metavar="NAME", help="Model name that requests must use (default: the dialect's).")
@model_options
@click.option("--api-key-env", metavar="VAR", help="Environment variable that holds the key clients must send.")
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Origin whose pages may call the server from a browser, such as https://host:port; * for all. Repeatable.",
)
@click.option(
    "--media-root",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    metavar="DIR",
    help="Folder of the images, videos and audio files that requests may name by their paths below it.",
)
@click.option(
    "--media-domain",
    "media_domains",
    multiple=True,
    metavar="HOST",
    help="Host from which media may be fetched over http or https. An address that is not public has to be named"
    " itself. Repeatable.",
)
@click.option("--full-text", is_flag=True, help="Put the whole text so far in every chunk of a stream (MindIE).")
@click.option(
    "--without",
    "lacking",
    multiple=True,
    metavar="CAPABILITY",
    help="Refuse the parameters of a capability by name, as a server without it does. Repeatable.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    help="Misbehave in a known way; `list` prints the names. Repeatable.",
)
@upstream_options
@engine_options
def command(
    dialect: str | None,
    checkpoint: Path | None,
    host: str,
    port: int,
    model: str | None,
    api_key_env: str | None,
    origins: tuple[str, ...],
    media_root: Path | None,
    media_domains: tuple[str, ...],
    full_text: bool,
    lacking: tuple[str, ...],
    faults: tuple[str, ...],
    model_options: ModelOptions,
    upstreams: UpstreamOptions,
    child_engine: EngineOptions,
) -> None:
    """Serve a model with the API of a dialect, and print one line when the server listens."""
    if LIST in faults:
        listing.list_dialect_faults(dialect)
        return
    if dialect is None:
        raise click.UsageError("missing option --dialect: name the API to serve")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger(WARM_UP_LOG).setLevel(logging.INFO)  # it can take minutes
    try:
        _refuse_unused_options(upstreams, child_engine)
        contract = load(dialect)
        settings = Settings(
            model=model or contract.default_model,
            api_key=_read_key(api_key_env),
            full_text=full_text,
            lacking=frozenset(lacking),
            origins=origins,
            media=MediaSources(media_root, frozenset(name.lower() for name in media_domains)),
        )
        check_settings(contract, settings)
        shown = select_faults(faults, listing.known_faults(contract.location)) if faults else ()
        with bind(host, port) as listener, ExitStack() as stack:
            engine: Engine
            on_shutdown: Callable[[], None] | None = None
            supervisor = None
            if child_engine.name is not None:
                supervisor, kind = make_supervisor(child_engine, checkpoint, settings.model)
                stack.enter_context(supervisor.running())
                upstreams = replace(
                    upstreams, urls=supervisor.urls, kind=kind, model=settings.model, key=supervisor.key
                )
            if upstreams.urls:
                engine, contract, place = open_upstreams(upstreams, contract, settings.model)
                on_shutdown = engine.load_balancer.close
            else:
                engine, place = load_engine(checkpoint or VISION_CHECKPOINT, model_options)

            in_flight = (model_options.slots or engine.slots) + model_options.max_waiting
            settings = replace(settings, max_in_flight=in_flight)

            def announce(address: str) -> None:
                click.echo(f"chatproof serving {contract.name} (model {settings.model}, {place}) at {address}")

            if supervisor is not None:
                supervisor.on_failure(engine.close)
            with closing(engine):
                app = create_faulty_app(contract, engine, settings, shown)
                tune_process()
                Server(app, engine, announce, on_shutdown=on_shutdown, errors=contract.errors).run_on(listener)
    except EngineStoppedError as error:
        raise ServerStopped(str(error)) from error
    except (ContractError, EngineProgramError, ServingError, UnknownFaultError, UpstreamSettingsError) as error:
        raise StartupFailed(str(error)) from error


def _refuse_unused_options(upstreams: UpstreamOptions, child_engine: EngineOptions) -> None:
    """Raise ServingError for an option without effect."""
    if upstreams.urls and child_engine.name is not None:
        raise ServingError("--engine cannot be used with --upstream: one starts a server, the other uses a running one")
    no_model = "cannot be used with --upstream, which loads no model"
    unused: dict[str, str] = {}
    if upstreams.urls:
        unused |= dict.fromkeys(("checkpoint", *ONLY_LOCAL), no_model)
    elif child_engine.name is not None:
        unused |= dict.fromkeys(ONLY_LOCAL, "is an option of our own engine: use --engine-args")
        unused |= dict.fromkeys(
            (name for name in UPSTREAM_OPTIONS if name != "upstream_timeout"), "requires --upstream"
        )
    else:
        unused |= dict.fromkeys(UPSTREAM_OPTIONS, "requires --upstream")
    if child_engine.name is None:
        unused |= dict.fromkeys(ENGINE_OPTIONS, "requires --engine")
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in unused and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            raise ServingError(f"{option.opts[0]} {unused[option.name]}")


def _read_key(variable: str | None) -> str | None:
    try:
        return read_api_key(variable, os.environ)
    except ApiKeyError as error:
        raise ServingError(str(error)) from error
