"""Faults in the server-sent events format and in the timing of streams."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import fault
from reference_server.faults.hooks import DONE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from reference_server.faults.hooks import ServedRequest

LEFT_TOKENS = 200  # what the client asks for that leaves
SLOW_S: Final = 1.5
LONG: Final = 200  # tokens asked for, so that holding back shows


@fault("stays-open", "pieces", timeout_s=20.0)
async def stays_open(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """A stream stays open for seconds after its `[DONE]`."""
    yield body
    if body.endswith(DONE) and (request.payload.get("max_tokens") or 0) > LEFT_TOKENS:
        await asyncio.sleep(6.0)


@fault("silent-for-long", "pieces", timeout_s=40.0)
async def silent_for_long(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """A stream pauses for 16 s before its end."""
    if body.endswith(DONE) and (request.payload.get("max_tokens") or 0) > LEFT_TOKENS:
        await asyncio.sleep(16.0)
    yield body


@fault("streams-with-length", "body")
def streams_with_length(body: bytes, _request: ServedRequest) -> bytes:
    """A stream is generated completely and then sent with a Content-Length."""
    return body


@fault("arrives-at-once", "pieces", bugs=[9], timeout_s=20.0)
async def arrives_at_once(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    """A stream is buffered and sent at once at its end."""
    request.state["held"] = request.state.get("held", b"") + body
    if body.endswith(DONE):
        if (request.payload.get("max_tokens") or 0) >= LONG:
            await asyncio.sleep(SLOW_S)  # so that it shows however fast the model is
        yield request.state["held"]


@fault("events-have-names", "event")
def events_have_names(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Events are named `completion`, so browsers do not deliver them as messages."""
    yield b"event: completion\n" + frame


@fault("names-without-data", "event")
def names_without_data(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Events with a name but no data are sent as keep-alives."""
    yield b"event: ping\n\n" + frame


@fault("retry-with-unit", "event")
def retry_has_a_unit(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """The retry field contains a unit."""
    yield b"retry: 3s\n" + frame
