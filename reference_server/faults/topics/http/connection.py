"""Faults that break or spoil a connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import fault, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import AFTERMATH_S, NOTICE_S, DisconnectCounter, chat_requests

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]


async def _gone(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


@wrapping_fault("wedged-by-a-disconnect", bugs=[19, 18], flaky=True)
def wedged_by_a_disconnect(app: ASGIApp, contract: Contract) -> App:
    """After a client disconnects during a stream, the next requests wait forever."""
    disconnects = DisconnectCounter(app)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            await asyncio.sleep(NOTICE_S)
            if disconnects.since_s() < AFTERMATH_S:
                await _gone(receive)
                return
        await disconnects.serve(scope, receive, send)

    return serve


@wrapping_fault("others-hurt-by-a-disconnect", bugs=[18, 19], flaky=True)
def others_are_hurt_by_a_disconnect(app: ASGIApp, contract: Contract) -> App:
    """When a client disconnects, the answers of other clients are cut off."""
    disconnects = DisconnectCounter(app)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        before = disconnects.count

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body"):
                await asyncio.sleep(0.03)  # so that others may leave before the end
            if disconnects.count > before:
                raise ConnectionResetError
            await send(message)

        await disconnects.serve(scope, receive, sent)

    return serve


@wrapping_fault("connection-soured")
def connection_is_soured(app: ASGIApp, contract: Contract) -> App:
    """After a refusal, the next request on the same connection gets a 400."""
    soured: set[Any] = set()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope["client"] or ())
        if client in soured and chat_requests(contract)(scope):
            soured.discard(client)
            await CannedResponse(400, b"{}")(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                soured.add(client)
            await send(message)

        await app(scope, receive, sent)

    return serve


@fault("connection-cut", "request")
def connection_is_cut(request: ServedRequest) -> CannedResponse | None:
    """The connection is closed without an answer if a body is malformed or contains a system message."""
    if b'"system"' in request.body:
        return Cut()
    return None


class Cut(CannedResponse):
    """End an answer too early."""

    def __init__(self) -> None:
        super().__init__(200, b"")

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"400")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"id":', "more_body": True})
        raise ConnectionResetError


def _is_stream(start: Message) -> bool:
    """Tell whether a response starts as a stream."""
    return any(value.startswith(b"text/event-stream") for _name, value in start["headers"])


def _transport(send: Send) -> Any:
    """Return uvicorn's transport, on which a response is written."""
    return getattr(send, "__self__").transport  # noqa: B009


@wrapping_fault("stream-unterminated")
def last_chunk_is_missing(app: ASGIApp, _contract: Contract) -> App:
    """A stream ends without its last chunk: the connection is closed."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        streams = False

        async def sent(message: Message) -> None:
            nonlocal streams
            streams = streams or (message["type"] == "http.response.start" and _is_stream(message))
            if streams and message["type"] == "http.response.body" and not message.get("more_body"):
                await send({**message, "more_body": True})
                _transport(send).close()
            else:
                await send(message)

        await app(scope, receive, sent)

    return serve


@wrapping_fault("connection-soured-by-streams")
def connection_is_soured_by_streams(app: ASGIApp, contract: Contract) -> App:
    """After a stream, the next request on the same connection is not answered, and the connection is closed."""
    soured: set[Any] = set()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope["client"] or ())
        if client in soured and chat_requests(contract)(scope):
            soured.discard(client)
            _transport(send).close()
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                soured.add(client)
            await send(message)

        await app(scope, receive, sent)

    return serve


@wrapping_fault("bytes-after-streams")
def bytes_follow_streams(app: ASGIApp, contract: Contract) -> App:
    """After the end of a stream, its last event is sent again, in front of the next answer."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        streams = False

        async def sent(message: Message) -> None:
            nonlocal streams
            if message["type"] == "http.response.start":
                streams = _is_stream(message)
            await send(message)
            if streams and message["type"] == "http.response.body" and not message.get("more_body"):
                _transport(send).write(b"data: [DONE]\n\n")

        await (app(scope, receive, sent) if chat_requests(contract)(scope) else app(scope, receive, send))

    return serve


@wrapping_fault("text-of-the-stream-again")
def text_of_the_stream_again(app: ASGIApp, contract: Contract) -> App:
    """A plain answer that follows a stream on its connection begins with the end of the stream."""
    after: set[Any] = set()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope["client"] or ())
        follows, streams = client in after, False
        after.discard(client)

        async def sent(message: Message) -> None:
            nonlocal streams
            if message["type"] == "http.response.start":
                streams = _is_stream(message)
                if streams:
                    after.add(client)
                elif follows:
                    headers = [pair for pair in message["headers"] if pair[0] != b"content-length"]
                    message = {**message, "headers": headers}
            elif follows and not streams:
                body = message.get("body", b"").replace(b'"content":"', b'"content":"sea. ')
                message = {**message, "body": body}
            await send(message)

        await (app(scope, receive, sent) if chat_requests(contract)(scope) else app(scope, receive, send))

    return serve
