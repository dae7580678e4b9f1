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
