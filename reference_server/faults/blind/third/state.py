"""Blind faults in which something is left over from an earlier request."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.recipes import garble
from reference_server.faults.decorators import choices_of, message_of, wrapping_fault
from reference_server.faults.fault_middleware import (
    FaultMiddleware,
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
)
from reference_server.faults.hooks import Hooks
from reference_server.faults.http_gate import NOTICE_S, DisconnectCounter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

SOON_S: Final = 1.0
PATIENCE_S: Final = 20.0
HEAD: Final = b"HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\nContent-Type: text/event-stream\r\n\r\n"
STREAM: Final = b"text/event-stream"
REST: Final = 3  # pieces of text


@wrapping_fault("heads-in-bodies", timeout_s=PATIENCE_S, flaky=True)
def heads_in_bodies(app: ASGIApp, contract: Contract) -> App:
    """A stream that begins within a second of another one is sent at its end, after the lines of a second head."""
    ended_s = [-math.inf]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        soon = asyncio.get_running_loop().time() - ended_s[0] < SOON_S
        held: list[bytes] = []
        streams = [False]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                kind: bytes = dict(message["headers"]).get(b"content-type", b"")
                streams[0] = kind.startswith(STREAM)
                await send(message)
                return
            more = bool(message.get("more_body"))
            if streams[0] and not more:
                ended_s[0] = asyncio.get_running_loop().time()
            if not (streams[0] and soon):
                await send(message)
                return
            held.append(message.get("body", b""))
            if not more:
                await send({**message, "body": HEAD + b"".join(held)})

        await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve


@wrapping_fault("rest-of-an-abandoned-stream", flaky=True)
def rest_of_an_abandoned_stream(app: ASGIApp, contract: Contract) -> App:
    """After a client disconnects during a stream, the next answer begins with words of that stream."""
    seen, said, rest = [0], [""], [""]

    def note(request: ServedRequest) -> None:
        if disconnects.count > seen[0]:
            seen[0] = disconnects.count
            rest[0] = "".join(said[-REST:])
        if request.payload.get("stream") is True:
            said[:] = [""]

    def change(response: Json, _request: ServedRequest) -> None:
        for choice in choices_of(response):
            part = message_of(choice)
            if not isinstance(part.get("content"), str) or not part["content"]:
                continue
            said.append(part["content"])
            if rest[0] and choice.get("index") == 0:
                part["content"] = rest[0] + part["content"]
                rest[0] = ""

    disconnects = DisconnectCounter(FaultMiddleware(app, contract, Hooks(request=note, answer=change, chunk=change)))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(NOTICE_S)
        await disconnects.serve(scope, receive, send)

    return serve


@wrapping_fault("abandoned-prompts-corrupt", flaky=True)
def abandoned_prompts_corrupt(app: ASGIApp, contract: Contract) -> App:
    """If a client disconnects and sends the same messages again, the answer is noise."""
    corrupt: set[bytes] = set()

    def change(request: ServedRequest) -> None:
        if _key(request.payload) in corrupt:
            garble(request)

    disconnects = DisconnectCounter(FaultMiddleware(app, contract, Hooks(request=change)))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        before = disconnects.count
        await asyncio.sleep(NOTICE_S)
        try:
            await disconnects.serve(scope, replay_body(body, receive), send)
        finally:
            if disconnects.count > before:
                corrupt.add(_key(parse_object(body)))

    return serve


def _key(sent: Json) -> bytes:
    return orjson.dumps(sent.get("messages"), option=orjson.OPT_SORT_KEYS)
