"""Faults that follow a client disconnect."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from reference_server.faults.decorators import around
from reference_server.faults.fault_middleware import chats
from reference_server.faults.hooks import Reply
from reference_server.faults.http_gate import HURT_S, NOTICE_S, Leavings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]

LATE_S = 3.0


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
