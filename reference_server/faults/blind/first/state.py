"""Blind faults in which something is left over from an earlier request or on a connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.blind.recipes import Silence, is_greedy, is_number, messages_of, per_server
from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware, is_chat_request
from reference_server.faults.hooks import DONE, CannedResponse, Hooks
from reference_server.faults.http_gate import NOTICE_S, DisconnectCounter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

LONG_ANSWER = 40  # tokens
SLOTS = 4
WARM_STREAMS = 3
PATIENCE_S = 20.0
PENALTIES = {"presence_penalty": (-2.0, 2.0), "frequency_penalty": (-2.0, 2.0), "repetition_penalty": (0.01, 2.0)}


def _lose_greed() -> Hooks:
    lost = [False]

    def change(request: ServedRequest) -> None:
        sent = request.payload
        if is_greedy(sent) and lost[0]:
            sent["temperature"] = 0.7
        elif not is_greedy(sent) and is_number(sent.get("max_tokens"), LONG_ANSWER, 2**31):
            lost[0] = True

    return Hooks(request=change)


def _need_a_predecessor() -> Hooks:
    had = [False]

    def change(request: ServedRequest) -> None:
        sent = request.payload
        own = [name for name, (least, most) in PENALTIES.items() if is_number(sent.get(name), least, most)]
        if own and not had[0]:
            for name in own:
                del sent[name]
        had[0] = bool(own)

    return Hooks(request=change)


def _buffer_first_streams() -> Hooks:
    seen: set[int] = set()

    async def pieces(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
        state = request.state
        if "buffered" not in state:
            state["buffered"] = b"" if len(seen) < WARM_STREAMS else None
            seen.add(id(state))
        if state["buffered"] is None:
            yield body
            return
        state["buffered"] += body
        if body.endswith(DONE):
            yield state["buffered"]

    return Hooks(pieces=pieces)


greedy_lost_after_a_long_sample = per_server(
    "greedy-lost-after-a-long-sample",
    "After a long sampled answer, temperature 0 is treated as 0.7 until the server is restarted.",
    _lose_greed,
)
penalties_need_a_predecessor = per_server(
    "penalties-need-a-predecessor",
    "Penalties are ignored unless the previous request had penalties, too.",
    _need_a_predecessor,
)
first_streams_arrive_whole = per_server(
    "first-streams-arrive-whole",
    "The first three streams of a server are sent at once.",
    _buffer_first_streams,
    timeout_s=PATIENCE_S,
)


@wrapping_fault("turns-lost-after-a-disconnect", flaky=True)
def turns_are_lost_after_a_disconnect(app: ASGIApp, contract: Contract) -> App:
    """After a client disconnects during a stream, the next request is answered as if only its last message existed."""
    seen = [0]

    def change(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        if disconnects.count > seen[0] and messages and messages[-1].get("role") == "user":
            seen[0] = disconnects.count
            request.payload["messages"] = messages[-1:]

    disconnects = DisconnectCounter(FaultMiddleware(app, contract, Hooks(request=change)))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(NOTICE_S)
        await disconnects.serve(scope, receive, send)

    return serve


@wrapping_fault("slots-lost-with-each-client", flaky=True)
def slots_are_lost_with_each_client(app: ASGIApp, contract: Contract) -> App:
    """Each client that disconnects during a stream occupies a slot forever. After four, all requests are refused."""
    disconnects = DisconnectCounter(app)
    status, body = contract.errors.render("overloaded", "no slot is free")

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            await asyncio.sleep(NOTICE_S)
            if disconnects.count >= SLOTS:
                await CannedResponse(status, orjson.dumps(body))(scope, receive, send)
                return
        await disconnects.serve(scope, receive, send)

    return serve


@wrapping_fault("models-freeze-after-a-refusal")
def models_freeze_after_a_refusal(app: ASGIApp, contract: Contract) -> App:
    """After a chat request with an invalid body, the next request for the list of models is never answered."""
    frozen = [False]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (400, 412, 422):
                frozen[0] = True
            await send(message)

        if scope["path"] == contract.models_path and frozen[0]:
            frozen[0] = False
            await Silence()(scope, receive, send)
        else:
            await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve


@wrapping_fault("plain-after-a-stream-is-cut")
def plain_after_a_stream_is_cut(app: ASGIApp, contract: Contract) -> App:
    """A plain request on the connection of an earlier stream is not answered; the connection is closed."""
    used: set[Any] = set()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        client, head = tuple(scope["client"] or ()), [b""]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                head[0] = dict(message["headers"]).get(b"content-type", b"")
                if client in used and head[0].startswith(b"application/json") and message["status"] == 200:
                    used.discard(client)
                    raise ConnectionResetError
            elif not message.get("more_body") and head[0].startswith(b"text/event-stream"):
                used.add(client)
            await send(message)

        await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve
