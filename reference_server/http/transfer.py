"""Additions to uvicorn's transfer of requests and responses: clients that left, reading that is held, HTTP/1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.flow_control import FlowControl

if TYPE_CHECKING:
    import asyncio

    from uvicorn._types import ASGISendEvent
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class HeldFlow(FlowControl):
    """Flow control that reads nothing more while it is held, whatever a request in progress asks for."""

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class QuietTransport:
    """A transport that ignores what is written after it was closed; uvloop raises RuntimeError.

    A client may leave at any time, and the protocol learns it only in the next turn of the event loop.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write the data if the transport is open."""
        if not self._transport.is_closing():
            self._transport.write(data)


class UnchunkedSender:
    """Sends the response to an HTTP/1.0 request, where chunked encoding does not exist.

    Without a length, the end of the connection ends the response. uvicorn uses chunked encoding for any version, which
    RFC 9112, section 6.1, forbids.
    """

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._send = cycle.send
        self._sized = True

    async def __call__(self, message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start":
            self._sized = any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
            if not self._sized:
                self._cycle.chunked_encoding = False
        elif message["type"] == "http.response.body" and not self._sized:
            self._cycle.expected_content_length = len(message.get("body", b""))
        await self._send(message)
