"""Requests to the embedded model behind every dialect, and answers that are held against its description."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx

from openapi.contract.contract import load, names
from openapi.description.validation import Validator
from openapi.stream import sse
from openapi.stream.event_order import Walk, walk
from reference_server.http.served_contract import served_contract
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
def served_everywhere(engine: LocalEngine) -> Iterator[dict[str, str]]:
    """The address of one server for each dialect, all over one engine."""
    with ExitStack() as servers:
        found = {}
        for dialect in DIALECTS:
            key = KEY if load(dialect).auth == "bearer" else None
            settings = Settings(model="tiny", api_key=key)
            found[dialect] = servers.enter_context(running(load(dialect), engine, settings)).address
        yield found


@cache
def validator(dialect: str) -> Validator:
    """The validator of what the embedded server has of a dialect."""
    return Validator(served_contract(load(dialect), bearer=False))


def post(address: str, dialect: str, request: Mapping[str, Any]) -> httpx.Response:
    return httpx.post(
        address + load(dialect).path,
        json={"model": "tiny", **request},
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=PATIENCE_S,
    )


def walked(address: str, dialect: str, request: Mapping[str, Any]) -> Walk:
    """The stream that a request gets; nothing is wrong with it."""
    response = post(address, dialect, {**request, "stream": True})
    found = walk([event.data for event in sse.decode([(0.0, response.content)]).events])
    assert (response.status_code, found.breaches) == (200, ())
    for _, chunk in found.chunks:
        assert validator(dialect).problems("ChatCompletionChunk", chunk) == ()
    return found


def answered(address: str, dialect: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The plain answer that a request gets; nothing is wrong with it."""
    response = post(address, dialect, request)
    assert response.status_code == 200
    answer: dict[str, Any] = response.json()
    assert validator(dialect).problems("ChatCompletion", answer) == ()
    return answer
