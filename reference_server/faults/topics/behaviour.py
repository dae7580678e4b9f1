"""What a server does over several requests: clients at the same time, errors before, streams that stay open."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import around, fault
from reference_server.faults.fault_middleware import chats
from reference_server.faults.hooks import DONE, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Told

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]

LEFT_TOKENS = 200  # what the client asks for that leaves


@around("one-at-a-time", bugs=[20], restless=True)
def one_at_a_time(app: ASGIApp, contract: Contract) -> Ask:
    """A stream that starts while another one runs ends without its end."""
    running: set[int] = set()

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if not chats(scope, contract):
            await app(scope, receive, send)
            return
        others, own = bool(running), id(scope)
        running.add(own)
        sent = 0

        async def cut(message: Message) -> None:
            nonlocal sent
            sent += 1
            if others and sent > 3 and message.get("more_body"):
                return
            if others and sent > 3:
                message = {**message, "body": b""}
            await send(message)

        try:
            await app(scope, receive, cut)
        finally:
            running.discard(own)

    return ask


@around("answers-crossed", bugs=[21], restless=True)
def answers_are_crossed(app: ASGIApp, contract: Contract) -> Ask:
    """Of two requests at the same time one is answered with what the other asked."""
    waiting: list[bytes] = []

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if not chats(scope, contract):
            await app(scope, receive, send)
            return
        message = await receive()
        body = message.get("body", b"")
        told = _messages(body)
        other = waiting[-1] if waiting else b""
        if told is not None and other:
            swapped = {**orjson.loads(body), "messages": orjson.loads(other)["messages"]}
            body = orjson.dumps(swapped)
        if told is not None:
            waiting.append(message["body"])
        pending: list[Message] = [{**message, "body": body}]

        async def again() -> Message:
            return pending.pop() if pending else await receive()

        try:
            await app({**scope, "headers": _without_length(scope)}, again, send)
        finally:
            if told is not None:
                waiting.remove(message["body"])

    return ask


def _messages(body: bytes) -> Any:
    """The messages of a valid request."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value.get("messages") if isinstance(value, dict) and isinstance(value.get("messages"), list) else None


def _without_length(scope: Scope) -> list[tuple[bytes, bytes]]:
    return [pair for pair in scope["headers"] if pair[0] != b"content-length"]


@around("falls-after-an-error")
def falls_after_an_error(app: ASGIApp, contract: Contract) -> Ask:
    """After a body that is not JSON, the next good request gets a 500."""
    hurt: list[bool] = []

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if not chats(scope, contract):
            await app(scope, receive, send)
            return
        message = await receive()
        body = message.get("body", b"")
        if body.startswith(b'{"model": ') and _messages(body) is None and body.endswith(b'"model": '):
            hurt.append(True)
        elif hurt and _messages(body) is not None and b'"max_tokens": 4' in body:
            await Reply(500, b"{}")(scope, receive, send)
            return
        pending: list[Message] = [message]

        async def again() -> Message:
            return pending.pop() if pending else await receive()

        await app(scope, again, send)

    return ask


@fault("stays-open", "pieces", patience_s=20.0)
async def stays_open(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """A stream stays open for seconds after its `[DONE]`."""
    yield body
    if body.endswith(DONE) and (told.sent.get("max_tokens") or 0) > LEFT_TOKENS:
        await asyncio.sleep(6.0)


@fault("silent-for-long", "pieces", patience_s=40.0)
async def silent_for_long(body: bytes, told: Told) -> AsyncIterator[bytes]:
    """A stream is silent for 16 s before its end."""
    if body.endswith(DONE) and (told.sent.get("max_tokens") or 0) > LEFT_TOKENS:
        await asyncio.sleep(16.0)
    yield body
