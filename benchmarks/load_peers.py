"""Clients that a load test could be made of: each reads the same streams and notes when it saw each event."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STAGGER_S = 0.004
"""Between the starts of two streams."""
PATH = "/v1/chat/completions"

Times = dict[str, tuple[int, list[int]]]
"""For each stream by its number: when the request was sent, and when each event with content was seen, in ns."""


def body(schedule: str, number: int) -> bytes:
    """The request of one stream."""
    return json.dumps({"model": schedule, "messages": [], "stream": True, "user": str(number)}).encode()


def bears_content(line: bytes | str) -> bool:
    """What a careful client does with a line: parse it and look."""
    text = line.decode() if isinstance(line, bytes) else line
    if not text.startswith("data: {"):
        return False
    choices = json.loads(text[6:]).get("choices") or [{}]
    return bool(choices[0].get("delta", {}).get("content"))


def ours(url: str, schedule: str, streams: int) -> Times:
    """The transport of `chatproof load`."""
    import gevent

    from loadtests.client.clock import Clock
    from loadtests.client.event_loop import Inbox
    from loadtests.client.transport import Caller, Origin

    host, _, port = url.removeprefix("http://").rpartition(":")
    origin, inbox, found = Origin(host, int(port), PATH), Inbox(Clock()), Times()

    def one(number: int) -> None:
        gevent.sleep(number * STAGGER_S)
        caller = Caller(origin, inbox)
        answer = caller.call(body(schedule, number), time.monotonic_ns())
        caller.close()
        seen = [at for at, count in zip(answer.stamps_ns, answer.counts, strict=True) for _ in range(count)]
        found[str(number)] = (answer.sent_ns, seen)

    gevent.joinall([gevent.spawn(one, number) for number in range(streams)])
    return found


def locust_fast(url: str, schedule: str, streams: int) -> Times:
    """Locust's FastHttpSession, its lines iterated as its documentation shows."""
    return _in_locust(url, schedule, streams, fast=True)


def locust_http(url: str, schedule: str, streams: int) -> Times:
    """Locust's HttpSession (requests), its lines iterated."""
    return _in_locust(url, schedule, streams, fast=False)


def _in_locust(url: str, schedule: str, streams: int, *, fast: bool) -> Times:
    import gevent
    from locust import FastHttpUser, HttpUser
    from locust.env import Environment

    found = Times()
    environment = Environment(host=url)
    kind: Any = type("Peer", (FastHttpUser if fast else HttpUser,), {"host": url, "abstract": False})

    def one(number: int) -> None:
        gevent.sleep(number * STAGGER_S)
        client = kind(environment).client
        sent_ns, seen = time.monotonic_ns(), []
        headers = {"Content-Type": "application/json"}
        if fast:
            lines = client.iter_lines(PATH, "POST", data=body(schedule, number), headers=headers)
        else:
            lines = client.post(PATH, data=body(schedule, number), headers=headers, stream=True).iter_lines()
        seen += [time.monotonic_ns() for line in lines if bears_content(line)]
        found[str(number)] = (sent_ns, seen)

    gevent.joinall([gevent.spawn(one, number) for number in range(streams)])
    return found


def httpx_lines(url: str, schedule: str, streams: int) -> Times:
    """httpx, its lines iterated."""
    import httpx

    async def stream(number: int, seen: list[int]) -> int:
        sent_ns = time.monotonic_ns()
        async with client.stream("POST", url + PATH, content=body(schedule, number)) as response:
            seen += [time.monotonic_ns() async for line in response.aiter_lines() if bears_content(line)]
        return sent_ns

    client = httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=None))
    return asyncio.run(_in_asyncio(stream, streams))


def httpx_sse(url: str, schedule: str, streams: int) -> Times:
    """httpx-sse over httpx."""
    import httpx
    from httpx_sse import aconnect_sse

    async def stream(number: int, seen: list[int]) -> int:
        sent_ns = time.monotonic_ns()
        async with aconnect_sse(client, "POST", url + PATH, content=body(schedule, number)) as source:
            seen += [time.monotonic_ns() async for event in source.aiter_sse() if bears_content(f"data: {event.data}")]
        return sent_ns

    client = httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=None))
    return asyncio.run(_in_asyncio(stream, streams))


def aiohttp_lines(url: str, schedule: str, streams: int) -> Times:
    """aiohttp, its lines iterated."""
    import aiohttp

    async def run() -> Times:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def stream(number: int, seen: list[int]) -> int:
                sent_ns = time.monotonic_ns()
                async with session.post(url + PATH, data=body(schedule, number)) as response:
                    seen += [time.monotonic_ns() async for line in response.content if bears_content(line)]
                return sent_ns

            return await _in_asyncio(stream, streams)

    return asyncio.run(run())


def openai_client(url: str, schedule: str, streams: int) -> Times:
    """openai-python, asynchronous."""
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

            return await _in_asyncio(stream, streams)

    return asyncio.run(run())


async def _in_asyncio(stream: Callable[[int, list[int]], Awaitable[int]], streams: int) -> Times:
    found = Times()

    async def one(number: int) -> None:
        await asyncio.sleep(number * STAGGER_S)
        seen: list[int] = []
        sent_ns = await stream(number, seen)
        found[str(number)] = (sent_ns, seen)

    await asyncio.gather(*(one(number) for number in range(streams)))
    return found


PEERS: dict[str, Callable[[str, str, int], Times]] = {
    "chatproof": ours,
    "locust FastHttpUser": locust_fast,
    "locust HttpUser": locust_http,
    "httpx": httpx_lines,
    "httpx-sse": httpx_sse,
    "aiohttp": aiohttp_lines,
    "openai": openai_client,
}
