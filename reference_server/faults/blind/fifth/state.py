"""A blind fault in which something is left over from an earlier request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]


@wrapping_fault("refusals-spoil-connections")
def refusals_spoil_connections(app: ASGIApp, contract: Contract) -> App:
    """After a refusal, the next valid request on the connection gets a 400 instead of its answer."""
    spoiled: set[Any] = set()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope.get("client") or ())
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        if client in spoiled:
            spoiled.discard(client)
            await CannedResponse(400, b"Bad request syntax ('29')", "text/plain")(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                spoiled.add(client)
            await send(message)

        await app(scope, receive, sent)

    return serve
