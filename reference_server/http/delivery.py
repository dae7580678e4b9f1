"""Delivery of a generation's deltas to the client; the generation is cancelled when the client disconnects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

import orjson
from starlette.requests import ClientDisconnect

from openapi.stream import sse
from reference_server.errors import render_error, to_api_error

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
    (b"x-accel-buffering", b"no"),  # otherwise nginx would buffer the events
]


async def collect(generation: Generation, receive: Receive) -> list[Delta]:
    """Return every delta; raise EngineError, or ClientDisconnect when the client disconnects."""

    async def read() -> list[Delta]:
        return [delta async for delta in generation]

    return await _run_while_connected(read(), generation, receive)


async def stream(
    generation: Generation, writer: ChunkWriter, receive: Receive, send: Send, errors: ErrorTable
) -> bytes:
    """Send each chunk as an event as soon as its token exists; return the end of the stream for the caller to send.

    Nothing is sent before the first delta, so an earlier failure raises EngineError and gets its own status. A later
    failure becomes the last event, in the dialect's envelope, and no `[DONE]` follows. Raises ClientDisconnect when the
    client disconnects.
    """

    async def run() -> bytes:
        deltas = aiter(generation)
        delta: Delta | None = await anext(deltas)
        await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
        opening = _encode_events(writer.opening_chunks())
        try:
            while delta is not None:
                events = opening + _encode_events(writer.add(delta))
                await send({"type": "http.response.body", "body": events, "more_body": True})
                opening = b""
                delta = await anext(deltas, None)
        except Exception as error:
            _, body = render_error(errors, to_api_error(error))
            return sse.encode(body)
        return _encode_events(writer.closing_chunks()) + DONE

    return await _run_while_connected(run(), generation, receive)


def _encode_events(chunks: Iterable[Json]) -> bytes:
    return b"".join(sse.encode(orjson.dumps(chunk)) for chunk in chunks)


async def _run_while_connected(work: Coroutine[None, None, T], generation: Generation, receive: Receive) -> T:
    """Run `work` until it is done or the client has disconnected, and cancel the generation in both cases.

    The generation is cancelled here and not in the iterator that reads it, because an asynchronous generator that is
    cancelled while suspended runs its `finally` clause only when it is garbage-collected.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(wait_for_disconnect(receive))
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


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
