"""A client of the application over a real socket and a scripted engine, its requests, and the events of its streams."""

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
    """The settings of a server of this dialect, with a key where its document asks for one."""
    key = KEY if load(dialect).auth == "bearer" else None
    return replace(Settings(model="tiny", api_key=key), **changes)


@contextmanager
def client(
    dialect: str = "mindie", engine: ScriptedEngine | None = None, **changes: Any
) -> Iterator[tuple[httpx.Client, str]]:
    """A client with the right key, and the path of chat completions."""
    contract = load(dialect)
    with (
        running(contract, engine or ScriptedEngine(), settings(dialect, **changes)) as server,
        httpx.Client(base_url=server.address, headers=BEARER, timeout=PATIENCE_S) as opened,
    ):
        yield opened, contract.path


def body(content: str = "Hello there", /, **parameters: Any) -> dict[str, Any]:
    """A request of one message."""
    return {"model": "tiny", "messages": [{"role": "user", "content": content}], **parameters}


def events(response: httpx.Response) -> list[str]:
    """The data of each event of a stream, whose lines have no flaws."""
    decoded = sse.decode([(0.0, response.content)])
    assert decoded.anomalies == ()
    return [event.data for event in decoded.events]
