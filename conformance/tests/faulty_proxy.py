"""A proxy that adds one fault to a conforming server, or a server of its own without an upstream."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import httpx

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    ProxyFault = Callable[["Sent", "Forward"], Awaitable["Reply"]]
    Forward = Callable[["Sent"], Awaitable["Reply"]]

DRIP_S = 0.02


@dataclass(frozen=True)
class Sent:
    """A request that the proxy received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The JSON object of the body; empty if the body is not an object."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def chats(self) -> bool:
        """Whether it is a chat request other than the greeting that precedes every run."""
        return self.path.endswith("/chat/completions") and self.method == "POST" and self.json.get("max_tokens") != 1

    def saying(self, **fields: Any) -> Sent:
        """Return the request with other fields."""
        return replace(self, body=json.dumps({**self.json, **fields}).encode())


@dataclass(frozen=True)
class Reply:
    """What the proxy writes: the pieces one by one, and how the response ends."""

    status: int
    pieces: tuple[bytes, ...]
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    ending: Literal["end", "drip"] = "end"

    @property
    def streams(self) -> bool:
        """Whether it is an event stream."""
        return self.headers.get("Content-Type", "").startswith("text/event-stream")

    def saying(self, value: Any) -> Reply:
        """Return the response with another JSON body."""
        return replace(self, pieces=(json.dumps(value).encode(),))


class FaultyProxy:
    """A proxy in front of a conforming server. Every request passes through the fault."""

    def __init__(self, upstream: str, fault: ProxyFault) -> None:
        self.url = ""
        self.requests = 0
        self._upstream = upstream
        self._fault = fault
        self._started = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> FaultyProxy:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._thread.join()

    async def _run(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stop.set)
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._answer(client, reader, writer)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=60) as client:
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            host, port = server.sockets[0].getsockname()
            self.url = f"http://{host}:{port}"
            self._started.set()
            await stop.wait()
            server.close()
            for task in list(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(
        self, client: httpx.AsyncClient, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests += 1

        async def forward(sent: Sent) -> Reply:
            kept = {name: value for name, value in sent.headers.items() if name in ("content-type", "authorization")}
            response = await client.request(sent.method, self._upstream + sent.path, headers=kept, content=sent.body)
            named = {"Content-Type": response.headers.get("content-type", "")}
            named |= {"Allow": response.headers["allow"]} if "allow" in response.headers else {}
            reply = Reply(response.status_code, (response.content,), named)
            if reply.streams:
                events = response.content.split(b"\n\n")
                reply = replace(reply, pieces=tuple(event + b"\n\n" for event in events if event))
            return reply

        reply = await self._fault(Sent(method, path, headers, body), forward)
        named = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        start = f"HTTP/1.1 {reply.status} X\r\n{named}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(start.encode())
        for piece in reply.pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"")
        await writer.drain()
        while reply.ending == "drip":
            writer.write(b"8\r\n: ping\n\n\r\n")
            await writer.drain()
            await asyncio.sleep(DRIP_S)
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def on_replies(edit: Callable[[Sent, Reply], Reply]) -> ProxyFault:
    """Return a fault that changes responses."""

    async def fault(sent: Sent, forward: Forward) -> Reply:
        reply = await forward(sent)
        return edit(sent, reply) if sent.chats else reply

    return fault


def on_answers(edit: Callable[[Sent, dict[str, Any]], None]) -> ProxyFault:
    """Return a fault that changes plain answers."""

    def change(sent: Sent, reply: Reply) -> Reply:
        if reply.streams or reply.status != 200:
            return reply
        answer = json.loads(b"".join(reply.pieces))
        edit(sent, answer)
        return reply.saying(answer)

    return on_replies(change)
