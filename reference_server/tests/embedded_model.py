"""Servers of the embedded model for every dialect, and requests whose responses are validated."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx

from openapi.contract.contract import load, names
from openapi.description.validation import Validator
from openapi.stream import sse
from openapi.stream.event_order import Walk, walk
from reference_server.http.served_contract import TEXT_ONLY, served_contract
from reference_server.settings import Settings
from reference_server.tests.scripted_engine import PATIENCE_S, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openai.types.chat import ChatCompletionMessageParam

    from reference_server.engine import LocalEngine

DIALECTS = sorted(set(names().values()))
KEY = "key-1"
QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is the capital of France?"}]


@contextmanager
def serve_all_dialects(engine: LocalEngine) -> Iterator[dict[str, str]]:
    """Yield the address of a server for each dialect, all with one engine."""
    with ExitStack() as servers:
        addresses = {}
        for dialect in DIALECTS:
            key = KEY if load(dialect).auth == "bearer" else None
            settings = Settings(model="tiny", api_key=key)
            addresses[dialect] = servers.enter_context(running(load(dialect), engine, settings)).address
        yield addresses


@cache
def validator(dialect: str) -> Validator:
    """Return the validator of the contract that the embedded server serves in a dialect."""
    return Validator(served_contract(load(dialect), bearer=False, lacking=TEXT_ONLY))


def post(address: str, dialect: str, request: Mapping[str, Any]) -> httpx.Response:
    return httpx.post(
        address + load(dialect).path,
        json={"model": "tiny", **request},
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=PATIENCE_S,
    )


def walked(address: str, dialect: str, request: Mapping[str, Any]) -> Walk:
    """Return the stream for a request, and assert that it is valid."""
    response = post(address, dialect, {**request, "stream": True})
    stream = walk([event.data for event in sse.decode([(0.0, response.content)]).events])
    assert (response.status_code, stream.breaches) == (200, ())
    for _, chunk in stream.chunks:
        assert validator(dialect).problems("ChatCompletionChunk", chunk) == ()
    return stream


def answered(address: str, dialect: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain response for a request, and assert that it is valid."""
    response = post(address, dialect, request)
    assert response.status_code == 200
    answer: dict[str, Any] = response.json()
    assert validator(dialect).problems("ChatCompletion", answer) == ()
    return answer
