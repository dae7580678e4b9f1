"""Blind faults of state between requests: tokens of streams that a client has left."""

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


@wrapping_fault("left-streams-are-billed-to-the-next", flaky=True)
def left_streams_are_billed_to_the_next(app: ASGIApp, contract: Contract) -> App:
    """The usage of an answer also counts the tokens of a stream that a client has left before."""
    unbilled: list[int] = []

    def bill(response: Json, _request: ServedRequest) -> None:
        """Add what is not billed yet. Violates completion_tokens: the tokens of this answer."""
        usage = response.get("usage")
        if unbilled and isinstance(usage, dict) and usage.get("completion_tokens"):
            tokens = sum(unbilled)
            unbilled.clear()
            usage["completion_tokens"] += tokens
            usage["total_tokens"] += tokens

    billed = FaultMiddleware(app, contract, Hooks(answer=bill, chunk=bill))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        pieces, over, left = 0, False, False

        async def receive_and_note() -> Message:
            nonlocal left
            message = await receive()
            left = left or (message["type"] == "http.disconnect" and not over)
            return message

        async def send_and_count(message: Message) -> None:
            nonlocal pieces, over
            is_body = message["type"] == "http.response.body"
            pieces += is_body
            await send(message)
            over = is_body and not message.get("more_body")

        try:
            await billed(scope, receive_and_note, send_and_count)
        finally:
            if pieces and left:
                unbilled.append(pieces)

    return serve
