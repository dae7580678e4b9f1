"""Tests of delivery: clients that disconnect, engines that fail, and slots that are released."""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from reference_server.tests.app_client import DIALECTS, body, client, events
from reference_server.tests.scripted_engine import PATIENCE_S, ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def disconnecting(address: str, path: str, request: dict[str, Any]) -> Iterator[socket.socket]:
    """Send a request, and close the connection at the end of the context."""
    target = urlsplit(address)
    content = json.dumps(request).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    with socket.create_connection((target.hostname, target.port), timeout=PATIENCE_S) as connection:
        connection.sendall(head + content)
        yield connection


def test_a_request_beyond_the_limit_gets_retry_after() -> None:
    engine = ScriptedEngine(held=True)
    with client(engine=engine, max_in_flight=1) as (http, path), httpx.Client(base_url=http.base_url) as other:
        with disconnecting(str(http.base_url), path, body()):
            first = engine.submitted.get(timeout=PATIENCE_S)
            refused = other.post(path, json=body())
            health = other.get("/health")
        assert first.cancelled.wait(PATIENCE_S)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert health.status_code == 200


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("held", [False, True], ids=["after-the-first-token", "before-the-first-token"])
def test_a_client_that_disconnects_stops_the_generation(streamed: bool, held: bool) -> None:
    engine = ScriptedEngine(endless=True, held=held)
    with client(engine=engine, max_in_flight=1) as (http, path):
        with disconnecting(str(http.base_url), path, body(stream=streamed)) as connection:
            generation = engine.submitted.get(timeout=PATIENCE_S)
            if streamed and not held:
                assert connection.recv(12) == b"HTTP/1.1 200"
            assert not generation.cancelled.is_set()
        assert generation.cancelled.wait(PATIENCE_S)
        assert http.get("/health").status_code == 200


def test_a_finished_generation_releases_its_slot() -> None:
    with client(max_in_flight=1) as (http, path):
        statuses = [http.post(path, json=body(stream=bool(at % 2))).status_code for at in range(6)]
    assert statuses == [200] * 6


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_engine_failure_within_a_stream_becomes_an_error_event(dialect: str) -> None:
    with client(dialect, ScriptedEngine(fails_after=1)) as (http, path):
        response = http.post(path, json=body(stream=True))
        after = http.get("/health")
    *chunks, last = events(response)
    assert response.status_code == 200
    assert len(chunks) == 1 + load(dialect).stream.opening_chunk
    assert Validator(load(dialect)).problems("ErrorEnvelope", json.loads(last)) == ()
    assert "secret" not in last
    assert after.status_code == 200


@pytest.mark.parametrize("streamed", [False, True])
def test_an_engine_failure_before_the_first_byte_has_a_status(streamed: bool) -> None:
    with client(engine=ScriptedEngine(fails_after=0)) as (http, path):
        response = http.post(path, json=body(stream=streamed))
    assert (response.status_code, response.json()["error_type"]) == (500, "Incomplete Generation")
    assert "secret" not in response.text


def test_an_unexpected_failure_becomes_the_dialects_error_without_details(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = ScriptedEngine()

    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(engine, "encode_chat", broken)
    with client(engine=engine, max_in_flight=1) as (http, path):
        answers = [http.post(path, json=body()) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [500, 500]
    assert {"error", "error_type"} == set(answers[0].json())
    assert "secret" not in answers[0].text
    assert "secret" in caplog.text
