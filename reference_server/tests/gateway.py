"""A gateway in front of servers that a test has started, on loopback sockets."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reference_server.settings import Settings
from reference_server.tests.scripted_engine import Running, running
from reference_server.upstream.options import UpstreamOptions, open_upstreams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract


@contextmanager
def gateway(
    contract: Contract, *urls: str, name: str = "tiny", api_key: str | None = None, **options: Any
) -> Iterator[Running]:
    """Run a gateway whose model has this name. options: further upstream options."""
    engine, narrowed, _ = open_upstreams(UpstreamOptions(urls, **options), contract, name)
    settings = Settings(model=name, api_key=api_key)
    with running(narrowed, engine, settings, on_shutdown=engine.load_balancer.close) as server:
        yield server
