"""The command `chatproof serve`, and the checks that it makes before the server starts."""

from __future__ import annotations

import logging
import os
import re
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from openapi.api_key import VISIBLE_ASCII, ApiKeyError, read_api_key
from openapi.contract.contract import ContractError, load
from openapi.did_you_mean import suggest
from reference_server.child_engine.failure import EngineProgramError
from reference_server.child_engine.options import NAMES as ENGINE_OPTIONS
from reference_server.child_engine.options import EngineOptions, engine_options, make_supervisor
from reference_server.engine import CheckpointError
from reference_server.engine.protocol import DEFAULT_SLOTS, DEVICE_PREFILL_TOKENS, PREFILL_TOKENS, WARM_UP_S
from reference_server.faults import fault_list as listing
from reference_server.faults.assembly import create_faulty_app
from reference_server.faults.registry import UnknownFaultError, select_faults
from reference_server.http.app import create_app
from reference_server.http.server import GRACE_S, EngineStoppedError, Server, ServingError, bind, tune_process
from reference_server.settings import MediaSources, Settings
from reference_server.tiny.vision import VISION_CHECKPOINT
from reference_server.upstream.options import UpstreamOptions, UpstreamSettingsError, open_upstreams, upstream_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine, LocalEngine

__all__ = ["ServingError", "Settings", "command", "serve"]

MODEL_OPTIONS: Final = (
    "device",
    "dtype",
    "exact",
    "cache_memory",
    "max_model_len",
    "max_new_tokens",
    "prefill_tokens",
    "prefix_reuse",
    "warm_up",
)
UPSTREAM_OPTIONS: Final = ("upstream_kind", "upstream_model", "upstream_key_env", "upstream_timeout")

WARM_UP_LOG: Final = "reference_server.engine.model.accelerator.warm_up"

LIST: Final = "list"  # a value of --fault that prints the names


ORIGIN: Final = re.compile(r"\*|https?://([a-z0-9._-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")  # as browsers send it: no path


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
    """Serve until SIGTERM or SIGINT; raise ServingError when the engine stops. The caller closes the engine.

    port: 0 takes any free port. announce: called with the server's address as soon as it listens.
    """
    check_settings(contract, settings)
    with bind(host, port) as listener:
        app = create_app(contract, engine, settings)
        Server(app, engine, announce, grace_s=grace_s, errors=contract.errors).run_on(listener)


def check_settings(contract: Contract, settings: Settings) -> None:
    """Raise ServingError if the dialect cannot be served with these settings."""
    if contract.auth == "bearer" and settings.api_key is None:
        raise ServingError(f"{contract.name} requires an API key: name its environment variable with --api-key-env")
    if settings.api_key is not None and not VISIBLE_ASCII.fullmatch(settings.api_key):
        raise ServingError("invalid API key: expected printable ASCII characters without spaces")
    for origin in settings.origins:
        if not ORIGIN.fullmatch(origin):
            raise ServingError(f"invalid origin {origin!r}: expected SCHEME://HOST:PORT, such as https://host:8443")
    for name in sorted(settings.lacking - set(contract.capabilities)):
        known = ", ".join(sorted(contract.capabilities))
        reason = f"--without {name}: {contract.name} has no such capability: expected one of {known}"
        raise ServingError(f"{reason}{suggest(name, contract.capabilities)}")
    if settings.full_text and contract.stream.full_text == "never":
        raise ServingError(f"{contract.name} has no full-text mode: remove --full-text")


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
@click.option("--device", default="auto", show_default=True, help="Device: auto, cpu, cuda, npu, ...")
@click.option(
    "--dtype",
    default="auto",
    show_default=True,
    help="Data type: auto (the fastest that the checkpoint has and the device multiplies), float32, bfloat16, float16.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Compute the same bits for a request in any batch, in float32 on the CPU. Small models, such as the embedded"
    " one, always do; for a single stream of a large one, a step takes about twice the time.",
)
@click.option(
    "--slots",
    type=click.IntRange(1),
    help="Maximum number of sequences generated at once; a beam search uses one for each beam"
    f" (default: {DEFAULT_SLOTS}, or as many as fit into memory).",
)
@click.option(
    "--cache-memory",
    type=click.FloatRange(0, min_open=True),
    metavar="GIB",
    help="Memory for the key-value cache (default: half of what is free next to the weights).",
)
@click.option(
    "--max-waiting",
    default=64,
    show_default=True,
    type=click.IntRange(0),
    help="Maximum number of requests waiting for a slot; further requests get 503.",
)
@click.option(
    "--max-model-len",
    type=click.IntRange(2),
    help="Maximum number of prompt and generated tokens together (default: the checkpoint's, at most 4096 and what fits"
    " into memory).",
)
@click.option("--max-new-tokens", type=click.IntRange(1), help="Maximum number of generated tokens.")
@click.option(
    "--prefill-tokens",
    type=click.IntRange(16),
    help="Process longer prompts in chunks of this many tokens, between the steps of running requests"
    f" (default: {PREFILL_TOKENS}, or {DEVICE_PREFILL_TOKENS} on an accelerator).",
)
@click.option(
    "--prefix-reuse/--no-prefix-reuse",
    default=True,
    show_default=True,
    help="Reuse the cached beginning of earlier prompts.",
)
@click.option(
    "--warm-up",
    default=WARM_UP_S,
    show_default=True,
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Time limit for preparing the passes of an accelerator before the server listens; requests wait for the"
    " others.",
)
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
    device: str,
    dtype: str,
    exact: bool,
    slots: int | None,
    cache_memory: float | None,
    max_waiting: int,
    max_model_len: int | None,
    max_new_tokens: int | None,
    prefill_tokens: int | None,
    prefix_reuse: bool,
    warm_up: float,
    api_key_env: str | None,
    origins: tuple[str, ...],
    media_root: Path | None,
    media_domains: tuple[str, ...],
    full_text: bool,
    lacking: tuple[str, ...],
    faults: tuple[str, ...],
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
                engine, place = _load_engine(
                    checkpoint or VISION_CHECKPOINT,
                    device,
                    dtype=dtype,
                    exact=exact,
                    slots=slots,
                    cache_bytes=None if cache_memory is None else int(cache_memory * 2**30),
                    max_model_len=max_model_len,
                    max_new_tokens=max_new_tokens,
                    prefill_tokens=prefill_tokens,
                    prefix_reuse=prefix_reuse,
                    warm_up_s=warm_up,
                )

            in_flight = (slots or engine.slots) + max_waiting
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
        unused |= dict.fromkeys(("checkpoint", *MODEL_OPTIONS), no_model)
    elif child_engine.name is not None:
        unused |= dict.fromkeys(MODEL_OPTIONS, "is an option of our own engine: use --engine-args")
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


def _load_engine(checkpoint: Path, device: str, **options: Any) -> tuple[LocalEngine, str]:
    """Return the engine and the name of its device; raise ServingError with the engine's own message."""
    # These imports take seconds, so they come after all checks that can fail quickly.
    from reference_server.engine import LocalEngine
    from reference_server.engine.device import select_device

    try:
        place = str(select_device(device))
        engine = LocalEngine.load(checkpoint, device=place, **options)
        if checkpoint != VISION_CHECKPOINT:  # nothing depends on the machine for the embedded model
            click.echo(f"chatproof loaded {checkpoint}: {engine.describe()}", err=True)
        return engine, place
    except (CheckpointError, ValueError) as error:
        raise ServingError(str(error)) from error


def _read_key(variable: str | None) -> str | None:
    try:
        return read_api_key(variable, os.environ)
    except ApiKeyError as error:
        raise ServingError(str(error)) from error
