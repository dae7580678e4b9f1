"""A server that sends exactly the bytes that a test defines, and a call to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from typing import TYPE_CHECKING, Any

from conformance.client.call import Call
from conformance.client.client import Client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from conformance.exchange import Exchange

    Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

KEY = "sk-test/+Key=0123456789"
HEADER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEADER + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = [json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}) for text in "abc"]


def part(data: bytes) -> bytes:
    """Return data as one chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def whole(body: bytes, *, status: str = "200 OK", headers: str = "") -> bytes:
    """Return a complete response."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


class Server:
    """A server that runs a test's handler, and records the heads and bodies of the requests."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[str, bytes]] = []
        self.gone = asyncio.Event()
        self._handler = handler
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next((line.split(":")[1] for line in head.split("\r\n") if line.startswith("Content-Length")), "0")
            self.requests.append((head, await reader.readexactly(int(length))))
            await self._handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


def saying(*data: bytes) -> Handler:
    """Return a handler that sends these pieces."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in data:
            writer.write(piece)
            await writer.drain()

    return handle


def call(url: str = "/v1/chat", **others: Any) -> Call:
    """Return a call with defaults for the fields that a test does not set."""
    others = {"method": "POST", "body": b'{"a": 1}', "deadline_s": 30.0, **others}
    return Call(id="c-1", scenario="c", step="main", url=url, **others)


def ask(handler: Handler, *, tls: ssl.SSLContext | None = None, **others: Any) -> Exchange:
    """Send one call to a server with this handler.

    `others` are arguments of the client (`secret`, `verify`, `max_body_bytes`, and its headers as `headers_of_client`)
    or of the call.
    """
    own: dict[str, Any] = {name: others.pop(name) for name in ("secret", "verify", "max_body_bytes") if name in others}
    own["headers"] = others.pop("headers_of_client", ())
    own.setdefault("verify", False)  # reading the certificate authorities takes longer than most tests

    async def main() -> Exchange:
        async with Server(handler, tls) as server, Client(server.url, **own) as client:
            return await client.send(call(**others))

    return asyncio.run(main())
