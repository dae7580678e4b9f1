"""A client of the application with a scripted engine over a socket, its requests, and the events of its streams."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx

from openapi.contract.contract import load, names
from openapi.stream import sse
from reference_server.settings import Settings
from reference_server.tests.scripted_engine import PATIENCE_S, ScriptedEngine, running

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALECTS = sorted(set(names().values()))
KEY = "key-1"
BEARER = {"Authorization": f"Bearer {KEY}"}


def settings(dialect: str, **changes: Any) -> Settings:
    """Return settings for a server of this dialect, with a key if its document requires one."""
    key = KEY if load(dialect).auth == "bearer" else None
    return replace(Settings(model="tiny", api_key=key), **changes)


@contextmanager
def client(
    dialect: str = "mindie", engine: ScriptedEngine | None = None, **changes: Any
) -> Iterator[tuple[httpx.Client, str]]:
    """Yield a client with the right key, and the path of chat completions."""
    contract = load(dialect)
    with (
        running(contract, engine or ScriptedEngine(), settings(dialect, **changes)) as server,
        httpx.Client(base_url=server.address, headers=BEARER, timeout=PATIENCE_S) as opened,
    ):
        yield opened, contract.path


def body(content: str = "Hello there", /, **parameters: Any) -> dict[str, Any]:
    """Return a request with one message."""
    return {"model": "tiny", "messages": [{"role": "user", "content": content}], **parameters}


def events(response: httpx.Response) -> list[str]:
    """Return the data of each event of a stream, and assert that its lines are valid."""
    decoded = sse.decode([(0.0, response.content)])
    assert decoded.anomalies == ()
    return [event.data for event in decoded.events]
