"""Delivery: deltas of a generation to the client that waits for them, and an end to both when it leaves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

import orjson
from starlette.requests import ClientDisconnect

from openapi.stream import sse
from reference_server.errors import as_api_error, envelope

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from starlette.types import Receive, Send

    from openapi.contract.contract import ErrorTable
    from reference_server.answer.chunks import ChunkWriter
    from reference_server.answer.response_fields import Json
    from reference_server.engine import Delta, Generation

T = TypeVar("T")
DONE: Final = sse.encode("[DONE]")
STREAM_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # or a proxy would collect the events
]


async def collect(generation: Generation, receive: Receive) -> list[Delta]:
    """Every delta. Raises EngineError, and ClientDisconnect when nobody waits any longer."""

    async def read() -> list[Delta]:
        return [delta async for delta in generation]

    return await _while_connected(read(), generation, receive)


async def stream(
    generation: Generation, writer: ChunkWriter, receive: Receive, send: Send, errors: ErrorTable
) -> bytes:
    """Sends the chunks as events, each as soon as its token is there; returns the end of the stream, to be sent last.

    Nothing is sent before the first delta, so a failure up to then raises EngineError and gets a status of its own.
    A later one becomes the last event, in the dialect's envelope, and no `[DONE]` follows. Raises ClientDisconnect
    when the client leaves.
    """

    async def run() -> bytes:
        deltas = aiter(generation)
        delta: Delta | None = await anext(deltas)
        await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
        opening = _events(writer.opening())
        try:
            while delta is not None:
                events = opening + _events(writer.add(delta))
                await send({"type": "http.response.body", "body": events, "more_body": True})
                opening = b""
                delta = await anext(deltas, None)
        except Exception as error:
            _, body = envelope(errors, as_api_error(error))
            return sse.encode(body)
        return _events(writer.closing()) + DONE

    return await _while_connected(run(), generation, receive)


def _events(chunks: Iterable[Json]) -> bytes:
    return b"".join(sse.encode(orjson.dumps(chunk)) for chunk in chunks)


async def _while_connected(work: Coroutine[None, None, T], generation: Generation, receive: Receive) -> T:
    """Runs `work` until it is done or the client has left, and cancels the generation either way.

    The generation is cancelled here and not in the iterator that reads it: an asynchronous generator that is
    cancelled while it is suspended runs its `finally` only when it is collected.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        generation.cancel()
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    """Returns when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
