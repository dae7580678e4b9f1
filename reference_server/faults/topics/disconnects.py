"""Clients that leave in mid-answer: what becomes of the requests after theirs, and beside it.

Which request comes next depends on what else is asked at the same time. So a server is hurt for a second, long enough
for whatever the client that left, or who knows of it, asks next.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from reference_server.faults.decorators import around
from reference_server.faults.fault_middleware import chats
from reference_server.faults.hooks import Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]

HURT_S = 1.0
LATE_S = 3.0
NOTICE_S = 0.05  # who left just before a request is seen to have left


class Leavings:
    """Clients that left before their answers were whole, and when the last of them did."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.count = 0
        self.last_s = -math.inf

    def since_s(self) -> float:
        """Seconds since the last client left; infinite before the first."""
        return asyncio.get_running_loop().time() - self.last_s

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, and notes if its client leaves."""
        over = False

        async def heard() -> Message:
            nonlocal over
            message = await receive()
            if message["type"] == "http.disconnect" and not over:
                over = True
                self.count += 1
                self.last_s = asyncio.get_running_loop().time()
            return message

        async def sent(message: Message) -> None:
            nonlocal over
            await send(message)
            over = over or (message["type"] == "http.response.body" and not message.get("more_body"))

        await self.app(scope, heard, sent)


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


@around("fails-after-a-disconnect", bugs=[19], restless=True)
def fails_after_a_disconnect(app: ASGIApp, contract: Contract) -> Ask:
    """After a client has left in mid-stream, the next requests get a 500."""
    leavings = Leavings(app)

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if chats(scope, contract):
            await asyncio.sleep(NOTICE_S)
            if leavings.since_s() < HURT_S:
                await Reply(500, b"{}")(scope, receive, send)
                return
        await leavings.serve(scope, receive, send)

    return ask


@around("late-after-a-disconnect", bugs=[18], patience_s=20.0, restless=True)
def late_after_a_disconnect(app: ASGIApp, contract: Contract) -> Ask:
    """An answer that nobody reads goes on to its end, and the next requests wait for it."""
    leavings = Leavings(app)

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if chats(scope, contract):
            await asyncio.sleep(NOTICE_S)
            await asyncio.sleep(max(0.0, LATE_S - leavings.since_s()))
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
