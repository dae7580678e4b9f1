"""A connection returns the received data in order, also the data received before an error."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import h11

from conformance.client.call import Call
from conformance.client.client import Client
from conformance.client.connection import MAX_UNREAD_BYTES, Connection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import pytest

    from conformance.exchange import Exchange

    Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"


def answer(body: bytes) -> bytes:
    return ANSWER % (len(body), body)


def post(body: bytes) -> h11.Request:
    return h11.Request(method="POST", target="/", headers=[("Host", "h"), ("Content-Length", str(len(body)))])


async def rest(connection: Connection) -> bytes:
    pieces = []
    while (piece := await connection.read()) is not None:
        pieces.append(piece)
    return b"".join(pieces)


@asynccontextmanager
async def serving(handle: Handler) -> AsyncIterator[int]:
    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(closing, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@asynccontextmanager
async def connected(handle: Handler, body: bytes) -> AsyncIterator[Connection]:
    """Open a connection that sends a request as soon as it is open."""
    connection = Connection()
    connection.send(post(body), body)
    async with serving(handle) as port:
        try:
            await connection.open("127.0.0.1", port, None, "127.0.0.1")
            yield connection
        finally:
            connection.close()


def test_an_answer_is_read_before_the_request_is_completely_sent() -> None:
    body = bytes(32 * 2**20)  # more than fits into the buffers of the system

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Long\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()

    async def main() -> tuple[int, bytes]:
        async with connected(handle, body) as connection:
            return (await connection.read_head()).status, await rest(connection)

    assert asyncio.run(main()) == (413, b"{}")


def test_informational_responses_are_skipped() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer(b"a"))
        await reader.read()

    async def main() -> int:
        async with connected(handle, b"{}") as connection:
            return (await connection.read_head()).status

    assert asyncio.run(main()) == 200


def test_switching_protocols_ends_the_exchange() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n\0\0\0\4")
        await reader.read()

    async def main() -> Exchange:
        headers = {"Connection": "Upgrade", "Upgrade": "h2c"}
        async with serving(handle) as port, Client(f"http://127.0.0.1:{port}") as client:
            return await client.send(Call("1", "s", "s", "POST", "/", headers, b"{}", deadline_s=5.0))

    exchange = asyncio.run(main())
    assert (101, b"", None) == (exchange.status, exchange.body, exchange.failure)


def test_an_unsolicited_response_is_the_answer_to_the_next_request() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"asked"))
        await writer.drain()
        writer.write(answer(b"unasked"))
        await reader.read()

    async def main() -> list[bytes]:
        async with connected(handle, b"{}") as connection:
            await connection.read_head()
            first = await rest(connection)
            assert connection.reusable
            connection.send(post(b"{}"), b"{}")
            await connection.read_head()
            return [first, await rest(connection)]

    assert asyncio.run(main()) == [b"asked", b"unasked"]


def test_reading_pauses_while_the_buffer_is_full() -> None:
    size = 32 * 2**20
    written = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while written < size:
            writer.write(bytes(65536))
            await writer.drain()
            written += 65536

    async def main() -> tuple[int, int]:
        async with connected(handle, b"{}") as connection:
            await connection.read_head()
            before = -1
            while before != written:
                before = written
                for _ in range(100):
                    await asyncio.sleep(0)
            return before, len(await rest(connection))

    unread, read = asyncio.run(main())
    assert MAX_UNREAD_BYTES <= unread < size // 2
    assert size == read


def test_the_first_address_that_accepts_a_connection_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(b"{}"))

    def resolve(host: str, port: int, *_: Any, **__: Any) -> Any:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (at, port)) for at in ("127.0.0.2", "127.0.0.1")]

    async def main() -> list[int | None]:
        async with serving(handle) as port, Client(f"http://server.test:{port}") as client:
            monkeypatch.setattr(socket, "getaddrinfo", resolve)
            calls = [Call("c", "c", "c", "GET", "/", deadline_s=30.0) for _ in range(2)]
            return [(await client.send(call)).status for call in calls]

    assert asyncio.run(main()) == [200, 200]
    assert asked == ["server.test"]
