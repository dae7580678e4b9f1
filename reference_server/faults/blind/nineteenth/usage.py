"""Blind faults of token counts: streams that clients have left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware, is_chat_request
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest
    from reference_server.faults.http_gate import App


# Violates completion_tokens: the tokens of this answer. A counter is reset at the end of an answer only.
@wrapping_fault("abandoned-streams-counted-later", affects="answers")
def abandoned_streams_counted_later(app: ASGIApp, contract: Contract) -> App:
    """The usage of a plain answer also counts the pieces of streams that clients have left before the end."""
    left = [0]

    def add(answer: Json, _request: ServedRequest) -> None:
        usage = answer.get("usage")
        if isinstance(usage, dict) and {"completion_tokens", "total_tokens"} <= usage.keys():
            usage["completion_tokens"] += left[0]
            usage["total_tokens"] += left[0]
            left[0] = 0

    edited = FaultMiddleware(app, contract, Hooks(answer=add))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        pieces, over = 0, False

        async def receive_and_count() -> Message:
            nonlocal over
            message = await receive()
            if message["type"] == "http.disconnect" and not over:
                over = True
                left[0] += pieces
            return message

        async def send_and_count(message: Message) -> None:
            nonlocal pieces, over
            is_piece = message["type"] == "http.response.body"
            pieces += is_piece
            await send(message)
            over = over or (is_piece and not message.get("more_body"))

        if is_chat_request(scope, contract):
            await edited(scope, receive_and_count, send_and_count)
        else:
            await app(scope, receive, send)

    return serve
