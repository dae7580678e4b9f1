"""The client on real sockets: requests and answers are recorded exactly."""

from __future__ import annotations

import asyncio
import time
from itertools import count
from typing import TYPE_CHECKING

from conformance.client.client import Client
from conformance.client.secret import REDACTED, Secret
from conformance.exchange import Exchange
from conformance.tests.raw_server import CHUNKED, CHUNKS, KEY, Server, ask, call, part, saying, whole
from openapi.stream.sse import encode

if TYPE_CHECKING:
    import pytest


def test_a_plain_answer_is_recorded_exactly() -> None:
    body = '{"x": "你好"}'.encode()
    exchange = ask(
        saying(whole(body, status="207 Fine Thing", headers="X-One: 1\r\nx-ONE: \xff\r\nContent-Type: a/b\r\n"))
    )
    response = exchange.response
    assert response is not None
    assert (response.status, response.reason, response.http_version) == (207, "Fine Thing", "HTTP/1.1")
    assert ("X-One", "1") in response.headers
    assert exchange.body == body
    assert exchange.failure is None
    assert exchange.complete
    assert 0 <= response.headers_at_s <= response.segments[0].at_s <= response.ended_at_s
    assert (exchange.id, exchange.scenario, exchange.step) == ("c-1", "c", "main")
    assert exchange.started_at.endswith("+00:00")
    assert Exchange.from_dict(exchange.to_dict()) == exchange


def test_the_request_is_recorded_exactly() -> None:
    async def main() -> None:
        async with Server(saying(whole(b""))) as server, Client(server.url + "/base/", secret=Secret(KEY)) as client:
            exchange = await client.send(
                call("/v1/x?q=1", headers={"Content-Type": "application/json", "accept": "b/c"})
            )
            head, body = server.requests[0]
            assert body == b'{"a": 1}' == exchange.request.body
            assert exchange.request.url == f"{server.url}/base/v1/x?q=1"
            lines = [f"{name}: {value}" for name, value in exchange.request.headers]
            assert head.replace(KEY, REDACTED).split("\r\n")[:-2] == ["POST /base/v1/x?q=1 HTTP/1.1", *lines]
            assert "Authorization: Bearer " + REDACTED in lines
            assert "Accept-Encoding: identity" in lines
            assert [line for line in lines if line.lower().startswith("accept:")] == ["accept: b/c"]

    asyncio.run(main())


def test_only_content_length_is_added_to_a_request_without_a_body() -> None:
    async def main() -> None:
        async with Server(saying(whole(b""))) as server, Client(server.url) as client:
            await client.send(call(method="GET", body=b""))
            await client.send(call(method="POST", body=b""))
            names = [[line.split(":")[0] for line in head.split("\r\n")[1:-2]] for head, _ in server.requests]
            assert names[0] == ["Host", "Accept", "Accept-Encoding", "User-Agent"]
            assert sorted(names[1]) == sorted([*names[0], "Content-Length"])

    asyncio.run(main())


def test_each_event_has_its_arrival_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    events = [encode(data) for data in [*CHUNKS, "[DONE]"]]
    exchange = ask(saying(CHUNKED, *map(part, events), b"0\r\n\r\n"))
    assert exchange.response is not None
    # One tick at the start, one for the headers, one for each segment, one at the end.
    assert exchange.response.headers_at_s == 1.0
    assert [event.at_s for event in exchange.events] == [2.0, 3.0, 4.0, 5.0]
    assert [segment.data for segment in exchange.response.segments] == events
    assert exchange.response.ended_at_s == 6.0
    assert exchange.content() == "abc"


def test_pieces_that_arrive_together_form_one_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 5.0)
    exchange = ask(saying(CHUNKED + b"".join(part(bytes([byte])) for byte in b"data: x\n\n") + b"0\r\n\r\n"))
    assert exchange.response is not None
    assert [segment.data for segment in exchange.response.segments] == [b"data: x\n\n"]


def test_a_compressed_body_is_not_decompressed_if_the_request_does_not_accept_it() -> None:
    body = b"\x1f\x8b\x08\x00" + bytes(50)
    exchange = ask(saying(whole(body, headers="Content-Encoding: gzip\r\n")))
    assert exchange.body == body
    assert "Content-Encoding: gzip" in exchange.json_error


def test_a_chunked_request_has_several_chunks_and_no_content_length() -> None:
    heads: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"0\r\n\r\n")).decode())
        writer.write(whole(b""))

    async def main() -> str:
        async with Server(handle) as server, Client(server.url) as client:
            await client.send(call(body=b"Hello!", headers={"Transfer-Encoding": "chunked"}))
            return server.requests[0][0].lower()

    head = asyncio.run(main())
    assert "transfer-encoding: chunked" in head
    assert "content-length" not in head
    assert heads == ["3\r\nHel\r\n3\r\nlo!\r\n0\r\n\r\n"]
