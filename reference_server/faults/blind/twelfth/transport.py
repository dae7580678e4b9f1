"""Blind faults of HTTP: keys in any case, ids of requests in headers, and models without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App

KEY: Final = b"authorization"
REQUEST_ID: Final = b"x-request-id"
SUCCESS: Final = 200


def _with_key(scope: Scope, key: bytes) -> Scope:
    return {**scope, "headers": [*(pair for pair in scope["headers"] if pair[0] != KEY), (KEY, key)]}


def _noting_keys(app: ASGIApp, scope: Scope, valid: list[bytes]) -> App:
    """Return an application that notes the key of a request that is answered."""

    async def serve(_scope: Scope, receive: Receive, send: Send) -> None:
        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == SUCCESS:
                valid[:] = [header_of(scope, KEY)]
            await send(message)

        await app(scope, receive, send_and_note)

    return serve


@wrapping_fault("keys-in-any-case", applies_to=lambda contract: contract.auth == "bearer")
def keys_in_any_case(app: ASGIApp, _contract: Contract) -> App:
    """Once a key has been accepted, it is accepted in capitals and in small letters too."""
    valid: list[bytes] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and valid and header_of(scope, KEY).lower() == valid[0].lower():
            scope = _with_key(scope, valid[0])
        await (_noting_keys(app, scope, valid) if scope["type"] == "http" else app)(scope, receive, send)

    return serve


@wrapping_fault("models-listed-without-a-key", applies_to=lambda contract: contract.auth == "bearer")
def models_listed_without_a_key(app: ASGIApp, contract: Contract) -> App:
    """Once a request has been answered, the models are listed whatever the key."""
    valid: list[bytes] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and valid and scope["path"].startswith(contract.models_path):
            await app(_with_key(scope, valid[0]), receive, send)
        else:
            await (_noting_keys(app, scope, valid) if scope["type"] == "http" else app)(scope, receive, send)

    return serve


@wrapping_fault("equal-request-ids-fail")
def equal_request_ids_fail(app: ASGIApp, contract: Contract) -> App:
    """A request gets a 500 while another one with the same X-Request-Id is running."""
    running: set[bytes] = set()
    status, body = contract.errors.render("engine_failure", "request id already running")
    failed = CannedResponse(status, orjson.dumps(body))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        named = header_of(scope, REQUEST_ID) if is_chat_request(scope, contract) else b""
        if not named or named in running:
            await (failed if named else app)(scope, receive, send)
            return
        running.add(named)
        try:
            await app(scope, receive, send)
        finally:
            running.discard(named)

    return serve
