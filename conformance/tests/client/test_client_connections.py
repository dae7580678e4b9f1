"""The connections of the client: one for each exchange or connection name, limited in number, without shared state."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from conformance.client.client import Client
from conformance.client.secret import Secret
from conformance.tests.raw_server import KEY, Server, call, saying, whole

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@pytest.mark.parametrize("target", ["{other}/v1", "//127.0.0.1:1/", "http://[bad", "\x80"])
def test_a_redirect_is_recorded_and_not_followed(target: str) -> None:
    async def main() -> None:
        async with Server(saying(whole(b"no"))) as other:
            location = f"Location: {target.format(other=other.url)}\r\n"
            answer = whole(b"", status="307 Temporary Redirect", headers=location)
            async with Server(saying(answer)) as server, Client(server.url, secret=Secret(KEY)) as client:
                exchange = await client.send(call())
                assert (exchange.status, exchange.complete, exchange.failure) == (307, True, None)
                assert len(server.requests) == 1
            assert other.requests == []

    asyncio.run(main())


def test_exchanges_share_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    poisoned = whole(b"a", headers="Set-Cookie: a=b\r\n") + whole(b"from the previous answer")

    async def main() -> list[Exchange]:
        async with Server(saying(poisoned)) as server, Client(server.url) as client:
            exchanges = [await client.send(call()) for _ in range(2)]
            assert "cookie" not in server.requests[1][0].lower()
            return exchanges

    assert [exchange.body for exchange in asyncio.run(main())] == [b"a", b"a"]


def test_each_exchange_has_its_own_connection() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(whole(b""))
        await reader.readuntil(b"\r\n\r\n")
        raise AssertionError("a second request on the same connection")

    async def main() -> int:
        async with Server(handle) as server, Client(server.url) as client:
            for _ in range(3):
                await client.send(call(body=b""))
            return len(server.requests)

    assert asyncio.run(main()) == 3


@pytest.mark.parametrize(("name", "expected"), [(None, 2), ("a", 1)])
def test_calls_with_the_same_connection_name_share_a_connection(name: str | None, expected: int) -> None:
    opened = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        writer.write(whole(b""))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(whole(b""))

    async def main() -> list[int | None]:
        async with Server(handle) as server, Client(server.url) as client:
            return [(await client.send(call(body=b"", connection_name=name))).status for _ in range(2)]

    assert [200, 200] == asyncio.run(main())
    assert expected == opened


@pytest.mark.parametrize(
    ("first", "second", "statuses", "opened"),
    [
        (500, b"", [500, 200], 2),  # the server gave the connection up after its failure
        (200, b"", [200, None], 1),  # the server read the second request, and did not answer
        (500, b"HTTP/1.1 200 OK\r\n", [500, None], 1),  # an answer had begun, and the server broke it off
        (500, b"\r\nx", [500, None], 1),  # bytes that belong to no answer
    ],
)
def test_only_a_request_that_finds_its_connection_closed_after_a_failure_is_sent_again(
    first: int, second: bytes, statuses: list[int | None], opened: int
) -> None:
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.write(whole(b"").replace(b"200", str(first if connections == 1 else 200).encode(), 1))
        if connections == 1:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(second)

    async def main() -> list[Exchange]:
        async with Server(handle) as server, Client(server.url) as client:
            return [await client.send(call(body=b"", connection_name="a")) for _ in range(2)]

    exchanges = asyncio.run(main())
    assert (statuses, opened) == ([exchange.status for exchange in exchanges], connections)
    assert [status is None for status in statuses] == [exchange.failure is not None for exchange in exchanges]


def test_a_request_that_ends_a_new_connection_is_not_sent_again() -> None:
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1

    async def main() -> Exchange:
        async with Server(handle) as server, Client(server.url) as client:
            return await client.send(call(body=b"", connection_name="a"))

    assert asyncio.run(main()).failure is not None
    assert connections == 1


def test_the_number_of_concurrent_calls_is_limited() -> None:
    running = most = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1
        writer.write(whole(b""))

    async def main() -> None:
        async with Server(handle) as server, Client(server.url, connections=2) as client:
            await asyncio.gather(*(client.send(call()) for _ in range(8)))

    asyncio.run(main())
    assert most <= 2
