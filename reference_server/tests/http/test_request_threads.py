"""Tests of large requests: they delay no small ones, end with their client, and return their memory."""

from __future__ import annotations

import asyncio
import json
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from openapi.contract.contract import load
from reference_server.errors import ApiError
from reference_server.http.admission import LARGE_BYTES, BodyMemory
from reference_server.http.request_threads import RequestThreads
from reference_server.request.chat_request import MAX_VALUES, parse_body
from reference_server.settings import Settings
from reference_server.tests.app_client import body
from reference_server.tests.scripted_engine import PATIENCE_S, ScriptedEngine, running

if TYPE_CHECKING:
    from reference_server.engine import LocalEngine

PATH = "/v1/chat/completions"
LARGE = "x" * LARGE_BYTES
HOPELESS = "hopeless " * 450_000
NAME: ContextVar[str] = ContextVar("NAME", default="another")


class BlockedEngine(ScriptedEngine):
    """An engine that checks large prompts until it is released, and counts the checks."""

    def __init__(self) -> None:
        super().__init__()
        self.checks: list[int] = []
        self.checking = threading.Event()
        self.released = threading.Event()
        self.memory_released = threading.Event()

    def check_size(self, messages: list[dict[str, Any]], *_: object) -> None:
        if len(messages[0]["content"]) >= len(LARGE):
            self.checks.append(len(messages[0]["content"]))
            self.checking.set()
            self.released.wait(PATIENCE_S)

    def release_memory(self) -> None:
        self.memory_released.set()


def test_small_requests_are_answered_beside_large_ones_which_end_with_their_clients() -> None:
    engine = BlockedEngine()
    with running(load("mindie"), engine, Settings(model="tiny")) as server:
        url = server.address + PATH
        first = threading.Thread(target=httpx.post, args=(url,), kwargs={"json": body(LARGE), "timeout": PATIENCE_S})
        first.start()
        assert engine.checking.wait(PATIENCE_S)
        for _ in range(3):  # these wait for the first, and their clients leave
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(url, json=body(LARGE), timeout=0.3)
        assert httpx.post(url, json=body(), timeout=PATIENCE_S).status_code == 200
        assert first.is_alive()
        engine.released.set()
        first.join(PATIENCE_S)
        assert httpx.post(url, json=body(LARGE + "x"), timeout=PATIENCE_S).status_code == 200
        assert engine.memory_released.wait(PATIENCE_S)
    assert engine.checks == [len(LARGE), len(LARGE) + 1]


def test_a_body_of_any_size_is_read_in_the_context_of_its_request() -> None:
    async def never() -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    async def read(size: int) -> str:
        NAME.set("its own")
        return await RequestThreads(lambda: None).run(size, (NAME.get() for _ in range(1)), never)

    assert [asyncio.run(read(size)) for size in (1, LARGE_BYTES)] == ["its own", "its own"]


def test_a_hopeless_prompt_is_refused_by_counting(tiny_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(*_: object) -> list[int]:
        raise AssertionError("a hopeless prompt reached the template and the tokenizer")

    monkeypatch.setattr(type(tiny_engine), "encode_chat", encode)
    with running(load("mindie"), tiny_engine, Settings(model="tiny")) as server:
        response = httpx.post(server.address + PATH, json=body(HOPELESS), timeout=PATIENCE_S)
    assert response.status_code == 422
    limit = tiny_engine.max_model_len - 1
    assert "messages: the prompt has at least " in response.text
    assert f"at most {limit} fit" in response.text


def test_the_least_number_of_tokens_is_not_more_than_the_number(tiny_engine: LocalEngine) -> None:
    for text in ("The weather is fine. ", " ", "=", "\n", "好", "😀", "internationalization "):
        messages = [{"role": "user", "content": text * 500}]
        tokens = len(tiny_engine.encode_chat(messages))
        assert len(messages[0]["content"]) // tiny_engine._vocabulary.longest_token <= tokens


def test_the_large_bodies_of_all_requests_together_have_a_limit_that_small_ones_pass() -> None:
    memory = BodyMemory(limit_bytes=100, small_bytes=20)
    with memory.hold() as add:
        add(10)
        add(70)
        with memory.hold() as other, pytest.raises(ApiError, match="other large requests"):
            other(61)
        add(40)
        with memory.hold() as small:
            small(20)
    assert memory.held_bytes == 0


def test_values_are_counted_before_a_body_is_parsed() -> None:
    with pytest.raises(ApiError, match="more than 400000 values"):
        parse_body(b"[" + b"1," * (MAX_VALUES + 1) + b"1]")
    table = json.dumps({"content": 'a,"b",' * MAX_VALUES}).encode()
    assert parse_body(table).restore()["content"].startswith("a,")
