"""The client stops at the deadline, at the size limit of a body, and after the requested number of events."""

from __future__ import annotations

import asyncio
import time
from itertools import count

import pytest

from conformance.client import recording
from conformance.client.client import Client
from conformance.exchange import Exchange, Failure
from conformance.tests.raw_server import CHUNKED, CHUNKS, HEADER, Server, ask, call, part, saying, whole
from openapi.schema.quantity import format_quantity
from openapi.stream.sse import encode


def test_an_endless_slow_answer_stops_at_the_deadline() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        while True:
            writer.write(part(b"d"))
            await writer.drain()
            await asyncio.sleep(0.001)

    exchange = ask(handle, deadline_s=0.3)
    assert exchange.failure == Failure("timeout", "no complete answer within 0.3 s")
    assert not exchange.complete


def test_a_missing_answer_stops_at_the_deadline() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    exchange = ask(handle, deadline_s=0.05)
    assert exchange.failure == Failure("timeout", "no complete answer within 0.05 s")
    assert exchange.response is None


def test_an_endless_line_stops_at_the_byte_limit() -> None:
    limit = 300_000
    gibibyte = 2**30
    sent = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEADER + b"\r\ndata: ")
        while sent < gibibyte:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    exchange = ask(handle, max_body_bytes=limit)
    assert exchange.failure == Failure("too-large", f"the body is longer than {limit} bytes; the rest was not read")
    assert exchange.body == b"data: " + b"x" * (limit - 6)
    assert sent < gibibyte // 10


def test_a_body_of_exactly_the_limit_is_complete() -> None:
    exchange = ask(saying(whole(b"x" * 1000)), max_body_bytes=1000)
    assert exchange.complete
    assert len(exchange.body) == 1000


def test_a_body_in_too_many_segments_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(recording, "MAX_SEGMENTS", 10)
    exchange = ask(saying(CHUNKED + part(b"x") * 1000))
    assert exchange.failure is not None
    assert exchange.failure.kind == "too-large"
    assert len(exchange.body) == 10


@pytest.mark.parametrize("after", [0, 1, 2])
def test_the_client_disconnects_after_the_requested_events(after: int) -> None:
    async def main() -> Exchange:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(CHUNKED)
            for data in CHUNKS[:after]:
                writer.write(part(encode(data)))
            assert await reader.read() == b""
            server.gone.set()

        async with Server(handle) as server, Client(server.url) as client:
            exchange = await client.send(call(stop_after_events=after))
            await server.gone.wait()
            return exchange

    exchange = asyncio.run(main())
    assert exchange.failure == Failure(
        "disconnected-by-us", f"we disconnected on purpose after {format_quantity(after, 'event')}"
    )
    assert len(exchange.events) == after
    assert not exchange.complete


def test_a_stream_that_ends_before_the_requested_events_is_complete() -> None:
    exchange = ask(saying(CHUNKED, part(encode(CHUNKS[0])), b"0\r\n\r\n"), stop_after_events=2)
    assert (exchange.complete, exchange.failure) == (True, None)
