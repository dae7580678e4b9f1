"""Blind faults of HTTP as clients use it: content encodings, connections, origins."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import DONE, CannedResponse
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGE_BYTES = 1_500
PATIENCE_S = 20.0
"""Time limit of faults of arrival times: checks of timing count only for faults that have one."""
STREAM = b"text/event-stream"


def _accepts_gzip(scope: Scope) -> bool:
    return b"gzip" in header_of(scope, b"accept-encoding")


def _is_stream(start: Message) -> bool:
    kind: bytes = dict(start["headers"]).get(b"content-type", b"")
    return kind.startswith(STREAM)


@wrapping_fault("gzip-buffers-streams", timeout_s=PATIENCE_S)
def gzip_buffers_streams(app: ASGIApp, contract: Contract) -> App:
    """If the client accepts gzip, a stream is compressed and sent at its end."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        start: list[Message] = []
        held: list[bytes] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                start.append(message)
            elif not start:
                await send(message)
            else:
                held.append(message.get("body", b""))
                if not message.get("more_body"):
                    headers = [*start[0]["headers"], (b"content-encoding", b"gzip")]
                    await send({**start[0], "headers": headers})
                    await send({"type": "http.response.body", "body": gzip.compress(b"".join(held))})

        await app(scope, receive, sent if is_chat_request(scope, contract) and _accepts_gzip(scope) else send)

    return serve


@wrapping_fault("gzip-empties-streams")
def gzip_empties_streams(app: ASGIApp, contract: Contract) -> App:
    """If the client accepts gzip, a stream has no body."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        streams = [False]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                streams[0] = _is_stream(message)
            elif streams[0]:
                message = {**message, "body": b""}
            await send(message)

        await app(scope, receive, sent if is_chat_request(scope, contract) and _accepts_gzip(scope) else send)

    return serve


@wrapping_fault("last-chunk-missing")
def last_chunk_is_missing(app: ASGIApp, contract: Contract) -> App:
    """After `[DONE]` the connection is closed without the last chunk of the transfer encoding."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            body = message.get("body", b"")
            await send({**message, "more_body": True} if body.endswith(DONE) else message)
            if body.endswith(DONE):
                raise ConnectionResetError

        await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve


async def _at_once(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    if len(request.body) < LARGE_BYTES:
        yield body
        return
    request.state["held"] = request.state.get("held", b"") + body
    if body.endswith(DONE):
        yield request.state["held"]


large_requests_buffer_streams = hooked_fault(
    "large-requests-buffer-streams",
    "The stream for a large request is sent at once.",
    pieces=_at_once,
    timeout_s=PATIENCE_S,
)


@wrapping_fault("origins-forbidden")
def origins_are_forbidden(app: ASGIApp, _contract: Contract) -> App:
    """A request with an Origin header gets a 403 without a body."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        forbidden = scope["type"] == "http" and scope["method"] == "POST" and header_of(scope, b"origin")
        await (CannedResponse(403, b"") if forbidden else app)(scope, receive, send)

    return serve
