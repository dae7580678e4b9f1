"""Tests of the requests for recognition and reachability: limited in time and size, and never redirected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.upstream.client import probe_client
from reference_server.upstream.client.connection import UpstreamFailure, UpstreamTimeout, UpstreamUnreachable
from reference_server.upstream.client.probe_client import ProbeClient
from reference_server.upstream.client.server import Deadlines, UpstreamAddress, UpstreamServer
from reference_server.upstream.recognition import AUTO, RecognisedUpstream, recognise

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

KEY = "sk-of-the-upstream"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


async def ask(handle: Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]) -> tuple[dict[str, Any], list[str]]:
    """Return the answer to one request, and the heads of all requests."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        try:
            await handle(writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        upstream = UpstreamServer(UpstreamAddress.parse(f"http://127.0.0.1:{port}"), KEY, Deadlines())
        async with ProbeClient(upstream) as client:
            return await client.get_json("/v1/models"), heads


async def answers(writer: asyncio.StreamWriter) -> None:
    writer.write(OK + b'Content-Length: 8\r\n\r\n{"a": 1}')
    await writer.drain()


async def redirects(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()


async def never_ends(writer: asyncio.StreamWriter) -> None:
    writer.write(OK + b"Connection: close\r\n\r\n")
    while True:
        writer.write(b" " * 65_536)
        await writer.drain()


async def drips(writer: asyncio.StreamWriter) -> None:
    writer.write(OK + b"Connection: close\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def is_silent(_writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(2)


async def has_a_huge_head(writer: asyncio.StreamWriter) -> None:
    writer.write(OK)
    while True:
        writer.write(b"X: " + b"x" * 65_536 + b"\r\n")
        await writer.drain()


def test_an_answer_is_read_and_a_redirect_is_not_followed() -> None:
    value, (head,) = asyncio.run(ask(answers))
    assert (value, f"authorization: bearer {KEY}" in head.lower()) == ({"a": 1}, True)
    value, heads = asyncio.run(ask(redirects))
    assert (value, len(heads)) == ({}, 1)


@pytest.mark.parametrize("handle", [never_ends, drips, is_silent, has_a_huge_head])
def test_a_hostile_upstream_costs_little_time_and_memory(
    handle: Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_client, "READ_S", 0.3)
    monkeypatch.setattr(probe_client, "TOTAL_S", 0.5)
    monkeypatch.setattr(probe_client, "MAX_BODY_BYTES", 2**20)
    expected = UpstreamTimeout if handle in (drips, is_silent) else UpstreamFailure
    with pytest.raises(expected):
        asyncio.run(ask(handle))


def test_an_upstream_that_is_not_there_is_unreachable() -> None:
    server = UpstreamServer(UpstreamAddress.parse("http://127.0.0.1:1"), None, Deadlines())

    async def probe() -> None:
        async with ProbeClient(server) as client:
            await client.get_json("/v1/models")

    with pytest.raises(UpstreamUnreachable, match=r"127\.0\.0\.1:1"):
        asyncio.run(probe())
    assert not server.reachable


def test_an_upstream_is_recognised_by_its_models_although_its_description_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe_client, "READ_S", 0.3)
    listed = b'{"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": 512}]}'

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if b"/openapi.json" in head:
                await reader.read()  # until the client gives up
            else:
                writer.write(OK + b"Content-Length: %d\r\n\r\n%s" % (len(listed), listed))
                await writer.drain()
        finally:
            writer.close()

    async def recognised() -> RecognisedUpstream:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            upstream = UpstreamServer(UpstreamAddress.parse(f"http://127.0.0.1:{port}"), None, Deadlines())
            return await recognise(upstream, AUTO, None)

    found = asyncio.run(recognised())
    assert (found.kind.name, found.model, found.context) == ("vllm", "tiny", 512)
