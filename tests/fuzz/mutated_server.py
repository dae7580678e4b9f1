"""A server that answers with recorded answers in which some bytes, values or HTTP framing are changed at random."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from conformance.proof.recorded_run import read_recorded_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.exchange import Exchange

GREETING: Final = b'"Hello!"'
"""In the requests that show whether the server lives. They are answered well, so that runs go on."""
VALUES: Final[list[Any]] = [
    None, True, -1, 0, 2**63, 10**30, 10**4000, 1e308, "", "x", "x" * 100_000, "\ud800", "\u2028", "<script>",
    [], {}, [None], [[[[]]]], {"a": {"a": 1}}, [{}] * 5000,
]  # fmt: skip
STATUSES: Final = (100, 101, 103, 199, 201, 204, 206, 299, 301, 304, 400, 401, 404, 418, 429, 500, 502, 503, 599, 999)
HEADERS: Final = (
    b"Content-Type: text/html", b"Content-Type: ", b"Content-Type: text/event-stream; charset=utf-16",
    b"Content-Encoding: gzip",
    b"Content-Length: 5", b"Content-Length: 99999999", b"Content-Length: -1", b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked", b"Location: http://127.0.0.1:1/", b"Retry-After: 1",
    b"Retry-After: 9" + b"9" * 4000, b"Set-Cookie: " + b"a" * 9000, b"X: \xff\xfe",
    b"X-A: \x1b]0;a\x07", b"Connection: close", b"Connection: upgrade",
    b"Date: Thu, 99 Foo 99999 99:99:99 GMT", b": no name", b"no colon", b" folded: 1",
    b"\r\n".join(b"X-%d: 1" % at for at in range(500)),
)  # fmt: skip


class Mutator:
    """Makes answers of recorded ones. The n-th answer depends on the seed and on n only."""

    def __init__(self, dialect: str, seed: int, share: float = 0.8) -> None:
        run = read_recorded_run(dialect)
        self.model = run.model
        self.made = 0
        self._seed, self._share = seed, share
        answered = [exchange for exchange in run.exchanges.values() if exchange.response is not None]
        self._by_request = {exchange.request.body: exchange for exchange in answered if exchange.request.body}
        self._by_kind = {
            kind: [
                exchange
                for exchange in answered
                if exchange.succeeded and exchange.is_stream is kind and exchange.choices
            ]
            for kind in (False, True)
        }

    def answer(self, request: bytes) -> tuple[bytes, bool]:
        """Return the bytes of an answer, and whether the connection is reset after it."""
        self.made += 1
        rng = random.Random(f"{self._seed}/{self.made}")
        kind = b'"stream":true' in request.replace(b" ", b"")
        exchange = self._by_request.get(request) or rng.choice(self._by_kind[kind])
        if GREETING in request or rng.random() > self._share:
            return serialize(exchange), False
        return mutate(exchange, rng), rng.random() < 0.05


def serialize(exchange: Exchange, body: bytes | None = None, status: int | None = None, extra: bytes = b"") -> bytes:
    """Return an answer as HTTP."""
    assert exchange.response is not None
    content = exchange.body if body is None else body
    head = f"HTTP/1.1 {status or exchange.status} X\r\nContent-Type: {exchange.content_type}\r\n".encode()
    length = (
        b""
        if b"content-length" in extra.lower() or b"transfer" in extra.lower()
        else b"Content-Length: %d\r\n" % len(content)
    )
    return head + length + (extra + b"\r\n" if extra else b"") + b"\r\n" + content


def mutate(exchange: Exchange, rng: random.Random) -> bytes:
    """Return an answer with one or several changes."""
    body = exchange.body
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        body = rng.choice(BODY_CHANGES)(body, rng)
    if rng.random() < 0.2:
        return serialize(exchange, body, rng.choice(STATUSES))
    if rng.random() < 0.2:
        return serialize(exchange, body, None, rng.choice(HEADERS))
    whole = serialize(exchange, body)
    return change_bytes(whole, rng) if rng.random() < 0.1 else whole


def change_bytes(body: bytes, rng: random.Random) -> bytes:
    """Overwrite, remove, repeat or insert some bytes."""
    at = rng.randrange(len(body) + 1)
    end = min(len(body), at + rng.choice((0, 1, 2, 20, 500)))
    new = rng.choice(
        (b"", b"\0", b"\r", b"\n", b"\xff", b"\xe2\x80\xa8", rng.randbytes(8), body[at:end] * 3, b"[" * 20_000, b'"')
    )
    return body[:at] + new + body[end:]


def change_value(body: bytes, rng: random.Random) -> bytes:
    """Replace, remove or repeat a value of the JSON, or of one event."""
    is_stream = body.startswith(b"data:")
    events = body.split(b"\n\n") if is_stream else [body]
    at = rng.randrange(len(events))
    with suppress(ValueError, RecursionError):
        value = json.loads(events[at].removeprefix(b"data:"))
        changed = json.dumps(replace_part(value, rng), ensure_ascii=rng.random() < 0.5)
        events[at] = (b"data: " if is_stream else b"") + changed.encode(errors="surrogatepass")
    return b"\n\n".join(events)


def replace_part(value: Any, rng: random.Random) -> Any:
    """Return a value with one part, at any depth, replaced or removed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        rest = {key: item for key, item in value.items() if key != name}
        return rest if rng.random() < 0.1 else {**rest, name: replace_part(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        return [*value[:at], *([replace_part(value[at], rng)] * rng.choice((1, 1, 1, 0, 3))), *value[at + 1 :]]
    return rng.choice(VALUES)


def change_events(body: bytes, rng: random.Random) -> bytes:
    """Remove, repeat, reorder, join or split the events of a stream."""
    events = body.split(b"\n\n")
    change: Callable[[], list[bytes]] = rng.choice((
        lambda: events[: rng.randrange(len(events))],
        lambda: rng.sample(events, len(events)),
        lambda: events + events,
        lambda: [event for event in events if rng.random() < 0.8],
        lambda: [b": comment", *events, b"event: error\ndata: {}", b"data: [DONE]"],
    ))  # fmt: skip
    return rng.choice((b"\n\n", b"\n\n", b"\r\n\r\n", b"\r\r", b"\n", b"")).join(change())


BODY_CHANGES: Final = (change_bytes, change_value, change_value, change_events)


@contextmanager
def serve_mutated(mutator: Mutator) -> Iterator[str]:
    """Serve the answers of a mutator in a thread, and yield the URL."""
    loop = asyncio.new_event_loop()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_reset = True
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(lengths[0])) if lengths else b""
            if head.startswith(b"GET"):
                answer, is_reset = b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", False
            else:
                answer, is_reset = mutator.answer(body)
            writer.write(answer)
            await writer.drain()
        if is_reset:
            writer.transport.abort()
        else:
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(handle, "127.0.0.1", 0, limit=2**20))

    async def stop() -> None:
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the next turn
        loop.stop()

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop)
        thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
