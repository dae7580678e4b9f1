"""Intercept requests and responses in front of the application."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import orjson

from reference_server.faults.fault_middleware import is_chat_request, read_body, replay_body
from reference_server.faults.hooks import CannedResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]
    Headers = list[tuple[bytes, bytes]]

AFTERMATH_S = 1.0
"""How long after a disconnect a fault shows."""
NOTICE_S = 0.05
"""How long to wait before a request, so that a client that has just left is seen to have left."""


class DisconnectCounter:
    """Counts the clients that disconnect before their answer is complete, and remembers the time of the last."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.count = 0
        self.last_s = -math.inf

    def since_s(self) -> float:
        """Seconds since the last disconnect; infinite before the first."""
        return asyncio.get_running_loop().time() - self.last_s

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and count it if its client disconnects."""
        over = False

        async def receive_and_count() -> Message:
            nonlocal over
            message = await receive()
            if message["type"] == "http.disconnect" and not over:
                over = True
                self.count += 1
                self.last_s = asyncio.get_running_loop().time()
            return message

        async def send_and_note(message: Message) -> None:
            nonlocal over
            await send(message)
            over = over or (message["type"] == "http.response.body" and not message.get("more_body"))

        await self.app(scope, receive_and_count, send_and_note)


def report_left(app: ASGIApp, contract: Contract, on_left: Callable[[bytes, bytes], None]) -> App:
    """Call a function for each chat request whose client leaves before the answer ends.

    Its arguments are the body of the request and what has been sent of the answer.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body, sent, is_over = await read_body(receive), bytearray(), False

        async def receive_and_report() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and not is_over:
                on_left(body, bytes(sent))
            return message

        async def send_and_note(message: Message) -> None:
            nonlocal is_over
            sent.extend(message.get("body", b""))
            is_over = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        await app(scope, replay_body(body, receive_and_report), send_and_note)

    return serve


def header_of(scope: Scope, name: bytes) -> bytes:
    """Return the value of a request header, or an empty string."""
    value: bytes = dict(scope["headers"]).get(name, b"")
    return value


def refuse_matching(app: ASGIApp, contract: Contract, matches: Callable[[Scope], bool], status: int) -> App:
    """Refuse the requests that match, with the error envelope of the dialect."""
    _, body = contract.errors.render("invalid_request", "the request is not understood")
    return answer_matching(app, matches, CannedResponse(status, orjson.dumps(body)))


def answer_matching(app: ASGIApp, matches: Callable[[Scope], bool], response: CannedResponse) -> App:
    """Answer the requests that match with a fixed response."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await (response if matches(scope) else app)(scope, receive, send)

    return serve


def chat_requests(contract: Contract, method: str = "POST") -> Callable[[Scope], bool]:
    """Match requests to the chat endpoint."""
    return lambda scope: bool(scope["path"] == contract.path and scope["method"] == method)


def edit_headers(app: ASGIApp, edit: Callable[[Scope, Headers], Headers]) -> App:
    """Change the response headers of every request."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_edited(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": edit(scope, list(message["headers"]))}
            await send(message)

        await app(scope, receive, send_edited)

    return serve
