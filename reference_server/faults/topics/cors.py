"""Faults in the CORS headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import answer_matching, chat_requests, header_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]
    Headers = list[tuple[bytes, bytes]]

ORIGIN = (b"access-control-allow-origin", b"*")
METHODS = (b"access-control-allow-methods", b"POST, OPTIONS")
FIELDS = (b"access-control-allow-headers", b"authorization, content-type")


def _cors(app: ASGIApp, preflight: Headers | None, edit: Callable[[Scope, int], Headers]) -> App:
    """Answer preflights with these headers (None: unchanged), and add headers to answers by their status."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "OPTIONS" and preflight is not None:
            await send({"type": "http.response.start", "status": 204, "headers": preflight})
            await send({"type": "http.response.body", "body": b""})
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["method"] != "OPTIONS":
                message = {**message, "headers": [*message["headers"], *edit(scope, message["status"])]}
            await send(message)

        await app(scope, receive, sent)

    return serve


@wrapping_fault("origins-denied-answers")
def origins_are_denied_answers(app: ASGIApp, _contract: Contract) -> App:
    """The preflight allows every origin, but the answer allows none."""
    return _cors(app, [ORIGIN, METHODS, FIELDS], lambda _scope, _status: [])


@wrapping_fault("origins-denied-refusals")
def origins_are_denied_refusals(app: ASGIApp, _contract: Contract) -> App:
    """Answers allow every origin, but refusals allow none."""
    return _cors(app, [ORIGIN, METHODS, FIELDS], lambda _scope, status: [ORIGIN] if status < 400 else [])


@wrapping_fault("origins-denied-fields", bugs=[132])
def origins_are_denied_fields(app: ASGIApp, _contract: Contract) -> App:
    """The preflight allows every origin but no headers."""
    return _cors(app, [ORIGIN, METHODS], lambda _scope, _status: [ORIGIN])


@wrapping_fault("origins-denied-preflight", bugs=[132])
def origins_are_denied_the_preflight(app: ASGIApp, contract: Contract) -> App:
    """Answers allow every origin, but the preflight gets a 405."""
    allowing = _cors(app, None, lambda _scope, _status: [ORIGIN])
    return answer_matching(allowing, chat_requests(contract, "OPTIONS"), CannedResponse(405, b"{}"))


@wrapping_fault("origins-not-varied")
def origins_are_not_varied(app: ASGIApp, _contract: Contract) -> App:
    """Answers repeat the origin without `Vary: Origin`."""

    def echoed(scope: Scope, _status: int) -> Headers:
        origin = header_of(scope, b"origin")
        return [(ORIGIN[0], origin)] if origin else []

    return _cors(app, [(ORIGIN[0], b"http://localhost"), METHODS, FIELDS], echoed)


@wrapping_fault("origins-with-credentials")
def origins_with_credentials(app: ASGIApp, _contract: Contract) -> App:
    """Every origin may send credentials."""
    fields = [ORIGIN, (b"access-control-allow-credentials", b"true")]
    return _cors(app, [*fields, METHODS, FIELDS], lambda _scope, _status: fields)
