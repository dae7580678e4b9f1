"""Blind faults of HTTP: types of answers, and the list of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request, parse_object, read_body, replay_body
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import edit_headers, header_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App, Headers

ACCEPT: Final = b"accept"
TYPE: Final = b"content-type"
JSON_TYPE: Final = b"application/json"
ANY: Final = b"*"
SUCCESS: Final = 200


def _first_accepted(scope: Scope) -> bytes:
    """Return the first media type that a client accepts, unless it is a range of types."""
    first = header_of(scope, ACCEPT).split(b",")[0].split(b";")[0].strip()
    return b"" if ANY in first or b"/" not in first else first


@wrapping_fault("types-follow-accept")
def types_follow_accept(app: ASGIApp, contract: Contract) -> App:
    """The Content-Type of a plain answer is the first type that the client accepts; the body is JSON all the same."""

    def edit(scope: Scope, headers: Headers) -> Headers:
        if not is_chat_request(scope, contract) or not (accepted := _first_accepted(scope)):
            return headers
        return [(name, accepted if name == TYPE and value.startswith(JSON_TYPE) else value) for name, value in headers]

    return edit_headers(app, edit)


def _lists_models(contract: Contract) -> bool:
    return bool(contract.models_path)


@wrapping_fault("requested-models-become-listed", applies_to=_lists_models)
def requested_models_become_listed(app: ASGIApp, contract: Contract) -> App:
    """After a request for an unknown model, the list of models contains it."""
    requested: dict[str, None] = {}

    async def list_more(scope: Scope, receive: Receive, send: Send) -> None:
        body: list[bytes] = []
        status: list[int] = []

        async def keep(message: Any) -> None:
            status.extend([message["status"]] if "status" in message else [])
            body.append(message.get("body", b""))

        await app(scope, receive, keep)
        listed = orjson.loads(b"".join(body))
        if status[0] == SUCCESS and listed.get("data"):
            known = {model.get("id") for model in listed["data"]}
            listed["data"] += [{**listed["data"][0], "id": name} for name in requested if name not in known]
        await CannedResponse(status[0], orjson.dumps(listed))(scope, receive, send)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            body = await read_body(receive)
            receive = replay_body(body, receive)
            if isinstance(name := parse_object(body).get("model"), str) and name:
                requested[name] = None
        elif scope["method"] == "GET" and scope["path"] == contract.models_path and requested:
            await list_more(scope, receive, send)
            return
        await app(scope, receive, send)

    return serve
