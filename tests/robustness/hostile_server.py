"""A server that attacks its clients: raw bytes from scripts, one script after another."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import suppress
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, Self

from tests.robustness.wire import MODEL

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Sequence

    Writer = asyncio.StreamWriter
    Script = Callable[[bytes, Writer], Awaitable[None]]

STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
JSON: Final = {"Content-Type": "application/json", "Connection": "close"}
GREETING_TOKENS: Final = 1
"""The first request of a run, and every request that asks whether the server is still alive, ask for one token."""


def whole(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """Return a complete response; underscores in the names of headers become hyphens."""
    fields = {**JSON, "Content-Length": str(len(body)), **{key.replace("_", "-"): headers[key] for key in headers}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def completion(text: str = "Hello", tokens: int = 2) -> bytes:
    """Return the body of a good completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
    usage = {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": tokens + 9}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": MODEL,
            "choices": [choice],
            "usage": usage,
        }
    ).encode()


def event(text: str = "a", **choice: Any) -> bytes:
    """Return one event with content."""
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": int(time.time()), "model": MODEL}
    delta = {"role": "assistant", "content": text}
    return b"data: " + json.dumps({**chunk, "choices": [{"index": 0, "delta": delta, **choice}]}).encode() + b"\n\n"


def saying(*pieces: bytes) -> Script:
    """Return a script that writes these pieces."""

    async def script(_: bytes, writer: Writer) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return script


def forever(start: bytes, piece: bytes, pause_s: float = 0.0) -> Script:
    """Return a script that repeats a piece until the client leaves."""

    async def script(_: bytes, writer: Writer) -> None:
        writer.write(start)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return script


class HostileServer:
    """Answers each chat request with the next script, and everything else like an honest server.

    streamed: scripts for requests that ask for a stream, if they differ.

    requests: the head and the body of every request.
    connections: number of connections.
    """

    def __init__(self, *scripts: Script, streamed: Sequence[Script] = (), tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[bytes, bytes]] = []
        self.connections = 0
        self.url = ""
        self._scripts = cycle(scripts)
        self._streamed = cycle(streamed or scripts)
        self._tls = tls
        self._started = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> Self:
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

        def accept(reader: asyncio.StreamReader, writer: Writer) -> None:
            task = loop.create_task(self._serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=self._tls, limit=2**26)
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self.connections += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
                body = await reader.readexactly(length)
                self.requests.append((head, body))
                await self._script(head, body)(head, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _script(self, head: bytes, body: bytes) -> Script:
        if head.startswith(b"POST"):
            fields = json.loads(body)
            if fields.get("max_tokens") == GREETING_TOKENS:
                return saying(whole(completion()))
            return next(self._streamed if fields.get("stream") else self._scripts)
        if b"/models" in head.split(b"\r\n")[0]:
            return saying(whole(json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}).encode()))
        return saying(whole(b"{}", "404 Not Found"))
