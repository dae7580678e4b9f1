"""The options of `chatproof serve` that put it in front of upstreams, and what they lead to."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import click

from openapi.contract.contract import ContractError
from reference_server.upstream.load_balancer import Balance
from reference_server.upstream.upstream_engine import UpstreamEngine
from reference_server.upstream.kind import kinds
from reference_server.upstream.recognition import AUTO, OURS, UnknownUpstreamError, UpstreamFailure, recognise
from reference_server.upstream.capabilities import through
from reference_server.upstream.server import Deadlines, UpstreamServer
from reference_server.upstream.upstream_address import Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.upstream.recognition import Recognised

VISIBLE: Final = re.compile(r"[!-~]+")
DEADLINES: Final = {field.name: field.default for field in fields(Deadlines)}


class UpstreamSettingsError(Exception):
    """Upstreams that cannot be used as they were named: one line for the operator."""


@dataclass(frozen=True, slots=True)
class Upstreams:
    """What the operator said of the upstreams. kind: `auto` to ask them. key_variable: of the environment."""

    urls: tuple[str, ...]
    kind: str = AUTO
    model: str | None = None
    key_variable: str | None = None
    timeouts: tuple[str, ...] = ()


def upstream_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which gets their values as one argument, `upstreams`."""

    def with_upstreams(
        upstream: tuple[str, ...],
        upstream_kind: str,
        upstream_model: str | None,
        upstream_key_env: str | None,
        upstream_timeout: tuple[str, ...],
        **others: Any,
    ) -> Any:
        told = Upstreams(upstream, upstream_kind, upstream_model, upstream_key_env, upstream_timeout)
        return command(upstreams=told, **others)

    with_upstreams.__doc__ = command.__doc__
    known = getattr(command, "__click_params__", [])
    with_upstreams.__click_params__ = [*known, *reversed(OPTIONS)]  # type: ignore[attr-defined]  # as click's own do
    return with_upstreams


OPTIONS: Final = [
    click.Option(
        ["--upstream"],
        multiple=True,
        metavar="URL",
        help="Ask this server instead of loading a model. Repeatable: they take turns.",
    ),
    click.Option(
        ["--upstream-kind"],
        default=AUTO,
        show_default=True,
        metavar="KIND",
        help="auto, chatproof, vllm, sglang, transformers, or the dialect it speaks.",
    ),
    click.Option(["--upstream-model"], metavar="NAME", help="What it calls its model. Default: the first it lists."),
    click.Option(["--upstream-key-env"], metavar="VAR", help="Environment variable that holds the key to send it."),
    click.Option(
        ["--upstream-timeout"],
        multiple=True,
        metavar="STAGE=SECONDS",
        help="Repeatable; " + ", ".join(f"{name}={seconds:g}" for name, seconds in DEADLINES.items()) + ".",
    ),
]


def open_upstreams(told: Upstreams, contract: Contract, name: str) -> tuple[UpstreamEngine, Contract, str]:
    """The engine over the upstreams, the contract that can be kept with it, and a word of what is there.

    name: what clients call the model. Raises UpstreamSettingsError.
    """
    if told.kind not in (AUTO, OURS, *kinds()):
        known = ", ".join((AUTO, OURS, *kinds()))
        raise UpstreamSettingsError(f"--upstream-kind {told.kind!r} is unknown; there are: {known}")
    deadlines, key = _deadlines(told.timeouts), _key(told.key_variable)
    try:
        servers = [UpstreamServer(Origin.parse(url), key, deadlines) for url in told.urls]
        found = asyncio.run(_recognise(servers, told))
    except (ValueError, ContractError, UnknownUpstreamError) as error:
        raise UpstreamSettingsError(str(error)) from error
    except UpstreamFailure as error:
        raise UpstreamSettingsError(f"no upstream can be asked: {error}") from error
    balance = Balance(servers, found.kind.models_path)
    counts_each = contract.stream.usage == "with-finish"
    engine = UpstreamEngine(found.kind, balance, found.model, name, counts_each=counts_each)
    place = f"{found.kind.name} at {', '.join(str(server.origin) for server in servers)}"
    return engine, through(contract, found.kind), place


async def _recognise(servers: list[UpstreamServer], told: Upstreams) -> Recognised:
    """What the upstreams are, by those that can be asked; they must agree."""
    found: list[Recognised] = []
    failures: list[UpstreamFailure] = []
    for server in servers:
        brief = UpstreamServer(server.origin, server.key, replace(server.deadlines, first=10.0, total=30.0))
        try:
            found.append(await recognise(brief, told.kind, told.model))
        except UpstreamFailure as failure:
            server.reachable = False
            failures.append(failure)
        finally:
            brief.close()
    if not found:
        raise failures[0]
    if any(other.kind.name != found[0].kind.name or other.model != found[0].model for other in found):
        said = ", ".join(f"{each.model} ({each.kind.name})" for each in found)
        raise UnknownUpstreamError(f"the upstreams differ: {said}; name what they share, or start a gateway for each")
    return found[0]


def _deadlines(told: tuple[str, ...]) -> Deadlines:
    chosen: dict[str, float] = {}
    for each in told:
        stage, equals, seconds = each.partition("=")
        try:
            value = float(seconds)
        except ValueError:
            value = 0.0
        if stage not in DEADLINES or not equals or not 0 < value < float("inf"):
            known = ", ".join(DEADLINES)
            raise UpstreamSettingsError(f"--upstream-timeout {each!r}: write STAGE=SECONDS, STAGE one of {known}")
        chosen[stage] = value
    return Deadlines(**chosen)


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not VISIBLE.fullmatch(key):
        raise UpstreamSettingsError(f"--upstream-key-env names {variable}, which holds no key of visible ASCII: set it")
    return key
