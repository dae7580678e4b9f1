"""The options of `chatproof serve` for upstreams, and the engine that they configure."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import click

from openapi.api_key import ApiKeyError, read_api_key
from openapi.command_options.option_group import add_option_group
from openapi.contract.contract import ContractError
from reference_server.upstream.capabilities import narrow_contract, neutral_values
from reference_server.upstream.client.load_balancer import LoadBalancer
from reference_server.upstream.client.server import Deadlines, UpstreamAddress, UpstreamServer
from reference_server.upstream.foreign_text import ForeignText
from reference_server.upstream.kind import kind_names
from reference_server.upstream.recognition import (
    AUTO,
    SELF_DESCRIBING,
    UnknownUpstreamError,
    UpstreamFailure,
    recognise,
)
from reference_server.upstream.upstream_engine import UpstreamEngine

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.upstream.recognition import RecognisedUpstream

DEADLINES: Final = {field.name: field.default for field in fields(Deadlines)}


class UpstreamSettingsError(Exception):
    """The upstreams cannot be used as configured; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class UpstreamOptions:
    """Values of the upstream options.

    kind: `auto` to recognise it. key_variable: environment variable with the API key. timeouts: as STAGE=SECONDS.
    context: size of the upstream's context in tokens, if it does not list it. key: an API key; no option sets it.
    """

    urls: tuple[str, ...]
    kind: str = AUTO
    model: str | None = None
    key_variable: str | None = None
    timeouts: tuple[str, ...] = ()
    context: int | None = None
    key: str | None = None


OPTIONS: Final = [
    click.Option(
        ["--upstream"],
        multiple=True,
        metavar="URL",
        help="Forward requests to this server instead of loading a model. Repeatable: the servers take turns.",
    ),
    click.Option(
        ["--upstream-kind"],
        default=AUTO,
        show_default=True,
        metavar="KIND",
        help="Kind of the upstream: auto, chatproof, vllm, sglang, transformers, or a dialect.",
    ),
    click.Option(
        ["--upstream-model"], metavar="NAME", help="Model name at the upstream (default: the first that it lists)."
    ),
    click.Option(["--upstream-key-env"], metavar="VAR", help="Environment variable that holds the upstream's API key."),
    click.Option(
        ["--upstream-timeout"],
        multiple=True,
        metavar="STAGE=SECONDS",
        help="Timeout of one stage. Repeatable; defaults: "
        + ", ".join(f"{name}={seconds:g}" for name, seconds in DEADLINES.items())
        + ".",
    ),
    click.Option(
        ["--upstream-context"],
        type=click.IntRange(min=2),
        metavar="TOKENS",
        help="Context of the upstream, if it does not list it: a prompt that cannot fit is refused.",
    ),
]


upstream_options = add_option_group(OPTIONS, "upstreams", UpstreamOptions)
"""Adds the options to a command, which gets their values as one argument, `upstreams`."""


def open_upstreams(options: UpstreamOptions, contract: Contract, name: str) -> tuple[UpstreamEngine, Contract, str]:
    """Return the engine for the upstreams, the contract that it can serve, and a short description of the upstreams.

    name: the model's name for clients. Raises UpstreamSettingsError.
    """
    if options.kind not in (AUTO, SELF_DESCRIBING, *kind_names()):
        known = ", ".join((AUTO, SELF_DESCRIBING, *kind_names()))
        raise UpstreamSettingsError(f"unknown --upstream-kind {options.kind!r}: expected one of {known}")
    deadlines, key = _parse_deadlines(options.timeouts), options.key or _read_key(options.key_variable)
    try:
        servers = [UpstreamServer(UpstreamAddress.parse(url), key, deadlines) for url in options.urls]
        recognised = asyncio.run(_recognise_all(servers, options))
    except (ValueError, ContractError, UnknownUpstreamError) as error:
        raise UpstreamSettingsError(str(error)) from error
    except UpstreamFailure as error:
        raise UpstreamSettingsError(f"cannot reach any upstream: {error}") from error
    load_balancer = LoadBalancer(servers, recognised.kind.models_path)
    counts_each = contract.stream.usage == "with-finish"
    engine = UpstreamEngine(
        recognised.kind,
        load_balancer,
        recognised.model,
        name,
        counts_each=counts_each,
        neutral=neutral_values(contract),
        context=options.context or recognised.context,
    )
    place = f"{recognised.kind.name} at {', '.join(str(server.address) for server in servers)}"
    return engine, narrow_contract(contract, recognised.kind), place


async def _recognise_all(servers: list[UpstreamServer], options: UpstreamOptions) -> RecognisedUpstream:
    """Return the common kind and model of all upstreams that can be reached."""
    recognised: list[RecognisedUpstream] = []
    failures: list[UpstreamFailure] = []
    for server in servers:
        try:
            recognised.append(await recognise(server, options.kind, options.model))
        except UpstreamFailure as failure:
            server.reachable = False
            failures.append(failure)
    if not recognised:
        raise failures[0]
    first = recognised[0]
    if any(other.kind.name != first.kind.name or other.model != first.model for other in recognised):
        foreign = ForeignText({server.key for server in servers if server.key is not None})
        differing = ", ".join(f"{foreign.clean(upstream.model)} ({upstream.kind.name})" for upstream in recognised)
        raise UnknownUpstreamError(
            f"the upstreams differ: {differing}; set --upstream-kind and --upstream-model, or start a gateway for each"
        )
    return first


def _parse_deadlines(timeouts: tuple[str, ...]) -> Deadlines:
    chosen: dict[str, float] = {}
    for timeout in timeouts:
        stage, equals, seconds = timeout.partition("=")
        try:
            value = float(seconds)
        except ValueError:
            value = 0.0
        if stage not in DEADLINES or not equals or not 0 < value < float("inf"):
            known = ", ".join(DEADLINES)
            raise UpstreamSettingsError(
                f"invalid --upstream-timeout {timeout!r}: expected STAGE=SECONDS, STAGE one of {known}"
            )
        chosen[stage] = value
    return Deadlines(**chosen)


def _read_key(variable: str | None) -> str | None:
    try:
        return read_api_key(variable, os.environ, "--upstream-key-env")
    except ApiKeyError as error:
        raise UpstreamSettingsError(str(error)) from error
