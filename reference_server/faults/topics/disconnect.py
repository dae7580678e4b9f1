"""Faults that follow a client disconnect."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware, is_chat_request, parse_object
from reference_server.faults.hooks import CannedResponse, Hooks
from reference_server.faults.http_gate import AFTERMATH_S, NOTICE_S, DisconnectCounter, report_left

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

LATE_S = 3.0
LIMIT = "max_tokens"


@wrapping_fault("fails-after-a-disconnect", bugs=[19], flaky=True)
def fails_after_a_disconnect(app: ASGIApp, contract: Contract) -> App:
    """After a client disconnects during a stream, the next requests get a 500."""
    disconnects = DisconnectCounter(app)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            await asyncio.sleep(NOTICE_S)
            if disconnects.since_s() < AFTERMATH_S:
                await CannedResponse(500, b"{}")(scope, receive, send)
                return
        await disconnects.serve(scope, receive, send)

    return serve


@wrapping_fault("late-after-a-disconnect", bugs=[18], timeout_s=20.0, flaky=True)
def late_after_a_disconnect(app: ASGIApp, contract: Contract) -> App:
    """After a client disconnects, its answer is generated to the end, and the next requests wait for it."""
    disconnects = DisconnectCounter(app)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            await asyncio.sleep(NOTICE_S)
            await asyncio.sleep(max(0.0, LATE_S - disconnects.since_s()))
        await disconnects.serve(scope, receive, send)

    return serve


@wrapping_fault("left-streams-stay-short", flaky=True, affects="answers")
def left_streams_stay_short(app: ASGIApp, contract: Contract) -> App:
    """A stream with max_tokens that a client has left ends after two tokens when it is asked for again."""
    left: set[bytes] = set()

    def shorten(request: ServedRequest) -> None:
        if request.body in left:
            request.payload[LIMIT] = min(2, request.payload[LIMIT])

    def note(body: bytes, _answer: bytes) -> None:
        sent = parse_object(body)
        if sent.get("stream") is True and type(sent.get(LIMIT)) is int:
            left.add(body)

    return report_left(FaultMiddleware(app, contract, Hooks(request=shorten)), contract, note)
