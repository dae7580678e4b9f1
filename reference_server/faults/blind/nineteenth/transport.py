"""Blind faults of HTTP: what clients accept, keys that go on, and the page of one model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import (
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
    with_length,
)
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App

KEY: Final = b"authorization"
JSON: Final = b"application/json"
SUCCESS: Final = 200


@wrapping_fault("accept-of-json-forbids-streams")
def accept_of_json_forbids_streams(app: ASGIApp, contract: Contract) -> App:
    """A stream is answered with one JSON object if the client accepts application/json, as SDKs say it always."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract) or header_of(scope, b"accept") != JSON:
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        sent = parse_object(body)
        if sent.get("stream") is True:
            body = orjson.dumps({name: sent[name] for name in sent if name not in ("stream", "stream_options")})
            scope = with_length(scope, len(body))
        await app(scope, replay_body(body, receive), send)

    return serve


@wrapping_fault("longer-keys-accepted", applies_to=lambda contract: contract.auth == "bearer")
def longer_keys_accepted(app: ASGIApp, _contract: Contract) -> App:
    """Once a key has been accepted, keys that begin with it are accepted too."""
    valid: list[bytes] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        key = header_of(scope, KEY)
        if valid and key.startswith(valid[0]):
            key = valid[0]
            scope = {**scope, "headers": [*(pair for pair in scope["headers"] if pair[0] != KEY), (KEY, key)]}

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == SUCCESS and key:
                valid[:] = [key]
            await send(message)

        await app(scope, receive, send_and_note)

    return serve


@wrapping_fault("single-models-are-lists", applies_to=lambda contract: bool(contract.models_path))
def single_models_are_lists(app: ASGIApp, contract: Contract) -> App:
    """The page of one model is a list with this model, like the page of all models."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        is_model = scope["type"] == "http" and scope["path"].startswith(f"{contract.models_path}/")
        if not is_model or scope["method"] != "GET":
            await app(scope, receive, send)
            return
        messages: list[Any] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await app(scope, receive, keep)
        status = messages[0]["status"]
        body = b"".join(message.get("body", b"") for message in messages)
        if status == SUCCESS:
            body = orjson.dumps({"object": "list", "data": [orjson.loads(body)]})
        await CannedResponse(status, body)(scope, receive, send)

    return serve
