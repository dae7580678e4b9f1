"""Tests of the limit of open connections."""

from __future__ import annotations

import logging
import resource
import socket
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from openapi.contract.contract import load
from reference_server.http.idle_connections import connection_limit, spare_descriptors
from reference_server.settings import Settings
from reference_server.tests.app_client import body
from reference_server.tests.scripted_engine import PATIENCE_S, ScriptedEngine, running

if TYPE_CHECKING:
    import pytest

LIMIT = 8


def test_the_limit_leaves_descriptors_for_everything_else() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 0 < connection_limit() <= soft - spare_descriptors()


def test_silent_connections_never_keep_others_out_and_are_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    engine = ScriptedEngine(held=True)
    settings = Settings(model="tiny", max_in_flight=2)
    with (
        caplog.at_level(logging.WARNING),
        running(load("mindie"), engine, settings, max_connections=LIMIT) as server,
        httpx.Client(base_url=server.address, timeout=PATIENCE_S) as client,
        httpx.Client(base_url=server.address, timeout=0.5) as waiting,
    ):
        target = urlsplit(server.address)
        silent = [socket.create_connection((target.hostname, target.port)) for _ in range(LIMIT // 2)]
        begun = [socket.create_connection((target.hostname, target.port)) for _ in range(LIMIT // 2)]
        for connection in begun:
            connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        with suppress(httpx.ReadTimeout):  # it is never answered
            waiting.post("/v1/chat/completions", json=body())
        silent += [socket.create_connection((target.hostname, target.port)) for _ in range(4 * LIMIT)]
        assert client.get("/health").status_code == 200
        for connection in (*silent, *begun):
            connection.close()
    assert [record.getMessage() for record in caplog.records].count(
        f"{LIMIT} connections are open, the limit: the idlest are closed"
    ) == 1


def test_a_connection_that_is_being_answered_is_not_closed() -> None:
    engine = ScriptedEngine(["word "] * 300 + [""], pace_s=0.002)
    with running(load("mindie"), engine, Settings(model="tiny"), max_connections=LIMIT) as server:
        target = urlsplit(server.address)
        with httpx.stream("POST", f"{server.address}/v1/chat/completions", json=body(stream=True)) as response:
            silent = [socket.create_connection((target.hostname, target.port)) for _ in range(4 * LIMIT)]
            assert response.read().endswith(b"data: [DONE]\n\n")
        for connection in silent:
            connection.close()
