"""Intercept requests and responses in front of the application."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import orjson

from reference_server.faults.hooks import Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]

HURT_S = 1.0
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


def header_of(scope: Scope, name: bytes) -> bytes:
    found: bytes = dict(scope["headers"]).get(name, b"")
    return found


def refusing(app: ASGIApp, contract: Contract, hit: Callable[[Scope], bool], status: int) -> Ask:
    """Refuses what is hit, with the envelope of the dialect."""
    _, body = contract.errors.render("invalid_request", "the request is not understood")
    return reply_instead(app, hit, Reply(status, orjson.dumps(body)))


def reply_instead(app: ASGIApp, hit: Callable[[Scope], bool], reply: Reply) -> Ask:
    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        await (reply if hit(scope) else app)(scope, receive, send)

    return ask


def chat_requests(contract: Contract, method: str = "POST") -> Callable[[Scope], bool]:
    return lambda scope: bool(scope["path"] == contract.path and scope["method"] == method)


def with_headers(app: ASGIApp, edit: Callable[[Scope, list[tuple[bytes, bytes]]], list[tuple[bytes, bytes]]]) -> Ask:
    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": edit(scope, list(message["headers"]))}
            await send(message)

        await app(scope, receive, sent)

    return ask
