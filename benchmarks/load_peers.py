"""Clients that a load test could use: each reads the same streams and records when it saw each event."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STAGGER_S = 0.004
"""The time between the starts of two streams."""
PATH = "/v1/chat/completions"

Times = dict[str, tuple[int, list[int]]]
"""By the number of the stream: when the request was sent, and when each event with content was seen, in ns."""


def build_body(schedule: str, number: int) -> bytes:
    """Return the request of one stream."""
    return json.dumps({"model": schedule, "messages": [], "stream": True, "user": str(number)}).encode()


def has_content(line: bytes | str) -> bool:
    """Parse a line to decide whether it has content, as a careful client does."""
    text = line.decode() if isinstance(line, bytes) else line
    if not text.startswith("data: {"):
        return False
    choices = json.loads(text[6:]).get("choices") or [{}]
    return bool(choices[0].get("delta", {}).get("content"))


def read_with_transport(url: str, schedule: str, streams: int) -> Times:
    """Read with the transport of `chatproof load`."""
    import gevent

    from loadtests.client.clock import Clock
    from loadtests.client.event_loop import EventLoop
    from loadtests.client.transport import Caller, Endpoint

    host, _, port = url.removeprefix("http://").rpartition(":")
    endpoint, event_loop, times = Endpoint(host, int(port), PATH), EventLoop(Clock()), Times()

    def read_stream(number: int) -> None:
        gevent.sleep(number * STAGGER_S)
        caller = Caller(endpoint, event_loop)
        answer = caller.call(build_body(schedule, number), time.monotonic_ns())
        caller.close()
        seen = [at for at, count in zip(answer.stamps_ns, answer.counts, strict=True) for _ in range(count)]
        times[str(number)] = (answer.sent_ns, seen)

    gevent.joinall([gevent.spawn(read_stream, number) for number in range(streams)])
    return times


def read_with_fast_http_user(url: str, schedule: str, streams: int) -> Times:
    """Read with Locust's FastHttpSession, iterating over lines as its documentation shows."""
    return _read_in_locust(url, schedule, streams, fast=True)


def read_with_http_user(url: str, schedule: str, streams: int) -> Times:
    """Read with Locust's HttpSession (requests), iterating over lines."""
    return _read_in_locust(url, schedule, streams, fast=False)


def _read_in_locust(url: str, schedule: str, streams: int, *, fast: bool) -> Times:
    import gevent
    from locust import FastHttpUser, HttpUser
    from locust.env import Environment

    times = Times()
    environment = Environment(host=url)
    kind: Any = type("Peer", (FastHttpUser if fast else HttpUser,), {"host": url, "abstract": False})

    def read_stream(number: int) -> None:
        gevent.sleep(number * STAGGER_S)
        client = kind(environment).client
        sent_ns, seen = time.monotonic_ns(), []
        headers = {"Content-Type": "application/json"}
        if fast:
            lines = client.iter_lines(PATH, "POST", data=build_body(schedule, number), headers=headers)
        else:
            lines = client.post(PATH, data=build_body(schedule, number), headers=headers, stream=True).iter_lines()
        seen += [time.monotonic_ns() for line in lines if has_content(line)]
        times[str(number)] = (sent_ns, seen)

    gevent.joinall([gevent.spawn(read_stream, number) for number in range(streams)])
    return times


def read_with_httpx(url: str, schedule: str, streams: int) -> Times:
    """Read with httpx, iterating over lines."""
    import httpx

    async def stream(number: int, seen: list[int]) -> int:
        sent_ns = time.monotonic_ns()
        async with client.stream("POST", url + PATH, content=build_body(schedule, number)) as response:
            seen += [time.monotonic_ns() async for line in response.aiter_lines() if has_content(line)]
        return sent_ns

    client = httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=None))
    return asyncio.run(_read_in_asyncio(stream, streams))


def read_with_httpx_sse(url: str, schedule: str, streams: int) -> Times:
    """Read with httpx-sse over httpx."""
    import httpx
    from httpx_sse import aconnect_sse

    async def stream(number: int, seen: list[int]) -> int:
        sent_ns = time.monotonic_ns()
        async with aconnect_sse(client, "POST", url + PATH, content=build_body(schedule, number)) as source:
            seen += [time.monotonic_ns() async for event in source.aiter_sse() if has_content(f"data: {event.data}")]
        return sent_ns

    client = httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=None))
    return asyncio.run(_read_in_asyncio(stream, streams))


def read_with_aiohttp(url: str, schedule: str, streams: int) -> Times:
    """Read with aiohttp, iterating over lines."""
    import aiohttp

    async def run() -> Times:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def stream(number: int, seen: list[int]) -> int:
                sent_ns = time.monotonic_ns()
                async with session.post(url + PATH, data=build_body(schedule, number)) as response:
                    seen += [time.monotonic_ns() async for line in response.content if has_content(line)]
                return sent_ns

            return await _read_in_asyncio(stream, streams)

    return asyncio.run(run())


def read_with_openai(url: str, schedule: str, streams: int) -> Times:
    """Read with the asynchronous client of openai-python."""
    from openai import AsyncOpenAI

    async def run() -> Times:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:

            async def stream(number: int, seen: list[int]) -> int:
                sent_ns = time.monotonic_ns()
                chunks = await client.chat.completions.create(
                    model=schedule, messages=[], stream=True, user=str(number)
                )
                seen += [
                    time.monotonic_ns() async for chunk in chunks if chunk.choices and chunk.choices[0].delta.content
                ]
                return sent_ns

            return await _read_in_asyncio(stream, streams)

    return asyncio.run(run())


async def _read_in_asyncio(stream: Callable[[int, list[int]], Awaitable[int]], streams: int) -> Times:
    times = Times()

    async def read_stream(number: int) -> None:
        await asyncio.sleep(number * STAGGER_S)
        seen: list[int] = []
        sent_ns = await stream(number, seen)
        times[str(number)] = (sent_ns, seen)

    await asyncio.gather(*(read_stream(number) for number in range(streams)))
    return times


PEERS: dict[str, Callable[[str, str, int], Times]] = {
    "chatproof": read_with_transport,
    "locust FastHttpUser": read_with_fast_http_user,
    "locust HttpUser": read_with_http_user,
    "httpx": read_with_httpx,
    "httpx-sse": read_with_httpx_sse,
    "aiohttp": read_with_aiohttp,
    "openai": read_with_openai,
}
