"""Tests of a server whose engine fails, and of clients that disconnect, over sockets."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from openapi.contract.contract import load
from reference_server.http.server import EngineStoppedError
from reference_server.settings import Settings
from reference_server.tests.scripted_engine import PATIENCE_S, Running, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.engine import LocalEngine
    from reference_server.engine.device import torch

DIALECT = "mindie-2.3"
MESSAGES = [{"role": "user", "content": "hello"}]


def body(**options: Any) -> dict[str, Any]:
    return {"model": "mindie", "messages": MESSAGES, "temperature": 0, "max_tokens": 8, "ignore_eos": True, **options}


@pytest.fixture
def serve(load_engine: Callable[..., LocalEngine]) -> Iterator[Callable[..., tuple[LocalEngine, Running]]]:
    """Return a function that starts an engine and a server for it."""
    open_contexts: list[Any] = []

    def start(**options: Any) -> tuple[LocalEngine, Running]:
        engine = load_engine(**options)
        context = running(load(DIALECT), engine, Settings("mindie"))
        open_contexts.append(context)
        return engine, context.__enter__()

    yield start
    for context in open_contexts:
        context.__exit__(None, None, None)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def post(address: str, **options: Any) -> httpx.Response:
    return httpx.post(f"{address}{load(DIALECT).path}", json=body(**options), timeout=PATIENCE_S)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the server ends in a thread
def test_a_permanent_engine_failure_ends_the_server(
    serve: Callable[..., tuple[LocalEngine, Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, server = serve()
    ends: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda raised: ends.append(raised.exc_value))

    def failing(*_: Any) -> torch.Tensor:
        raise RuntimeError("device lost")

    monkeypatch.setattr(engine._runner, "decode", failing)
    post(server.address)
    assert server.ended()
    assert [type(end) for end in ends] == [EngineStoppedError]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("when", ["before the first token", "after the first token"])
def test_a_disconnected_client_causes_no_further_step(
    serve: Callable[..., tuple[LocalEngine, Running]], monkeypatch: pytest.MonkeyPatch, stream: bool, when: str
) -> None:
    engine, server = serve(slots=1, prefill_tokens=16)
    held, go_on = threading.Event(), threading.Event()
    steps_after = []
    runner = engine._runner
    prefill, decode = runner.prefill, runner.decode

    def hold() -> None:
        if go_on.is_set():
            steps_after.append(1)
        else:
            held.set()
            go_on.wait(PATIENCE_S)

    def recorded_prefill(pieces: list[list[int]], slots: list[int], starts: list[int]) -> torch.Tensor:
        if when == "before the first token" and starts[0]:
            hold()
        return prefill(pieces, slots, starts)

    def recorded_decode(*arguments: Any) -> torch.Tensor:
        hold()
        return decode(*arguments)

    monkeypatch.setattr(runner, "prefill", recorded_prefill)
    monkeypatch.setattr(runner, "decode", recorded_decode)
    host, port = server.address.removeprefix("http://").split(":")
    sent = json.dumps(
        body(stream=stream, max_tokens=400, messages=[{"role": "user", "content": "hello " * 8}])
    ).encode()
    head = f"POST {load(DIALECT).path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(sent)}\r\n\r\n".encode()
    with socket.create_connection((host, int(port))) as client:
        client.sendall(head + sent)
        assert held.wait(PATIENCE_S)
        (generation,) = set(engine._driver.generations.values())
    wait_for(lambda: generation.submission.cancellation.requested)
    go_on.set()
    wait_for(lambda: engine._driver.scheduler.free_slots == 1 and not engine._driver.generations)
    assert steps_after == []
