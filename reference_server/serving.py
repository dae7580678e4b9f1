"""Serve a contract with an engine, after a check of the settings that the operator chose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

from openapi.api_key import VISIBLE_ASCII
from openapi.did_you_mean import suggest
from reference_server.http.app import create_app
from reference_server.http.server import GRACE_S, Server, ServingError, bind

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine
    from reference_server.settings import Settings

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
