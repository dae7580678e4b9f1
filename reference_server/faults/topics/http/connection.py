"""Faults that break or spoil a connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import around, fault
from reference_server.faults.fault_middleware import chats
from reference_server.faults.hooks import Reply
from reference_server.faults.http_gate import HURT_S, NOTICE_S, Leavings, chat_requests

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Told

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]


async def _gone(receive: Receive) -> None:
    """Waits until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


@around("wedged-by-a-disconnect", bugs=[19, 18], restless=True)
def wedged_by_a_disconnect(app: ASGIApp, contract: Contract) -> Ask:
    """After a client has left in mid-stream, the next requests wait without end."""
    leavings = Leavings(app)

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if chats(scope, contract):
            await asyncio.sleep(NOTICE_S)
            if leavings.since_s() < HURT_S:
                await _gone(receive)
                return
        await leavings.serve(scope, receive, send)

    return ask


@around("others-hurt-by-a-disconnect", bugs=[18, 19], restless=True)
def others_are_hurt_by_a_disconnect(app: ASGIApp, contract: Contract) -> Ask:
    """When a client leaves, the answers of others break off."""
    leavings = Leavings(app)

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if not chats(scope, contract):
            await app(scope, receive, send)
            return
        before = leavings.count

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body"):
                await asyncio.sleep(0.03)  # so that others may leave before the end
            if leavings.count > before:
                raise ConnectionResetError
            await send(message)

        await leavings.serve(scope, receive, sent)

    return ask


@around("connection-soured")
def connection_is_soured(app: ASGIApp, contract: Contract) -> Ask:
    """After a refusal the next request on the same connection gets a 400."""
    soured: set[Any] = set()

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope["client"] or ())
        if client in soured and chat_requests(contract)(scope):
            soured.discard(client)
            await Reply(400, b"{}")(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                soured.add(client)
            await send(message)

        await app(scope, receive, sent)

    return ask


@fault("connection-cut", "request")
def connection_is_cut(told: Told) -> Reply | None:
    """The connection is closed without an answer when a body is malformed or holds a system message."""
    if b'"system"' in told.body:
        return Cut()
    return None


class Cut(Reply):
    """An answer that ends before its time."""

    def __init__(self) -> None:
        super().__init__(200, b"")

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"400")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"id":', "more_body": True})
        raise ConnectionResetError
