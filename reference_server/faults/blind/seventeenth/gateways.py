"""Blind faults of gateways: a model that is asked for by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.blind.gateway_recipes import SUCCESS
from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.hooks import CannedResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App


@wrapping_fault("models-by-name-are-lists", applies_to=lambda contract: bool(contract.models_path))
def models_by_name_are_lists(app: ASGIApp, contract: Contract) -> App:
    """A model that is asked for by its name is in a list, as all models are."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        is_get = scope["type"] == "http" and scope["method"] == "GET"
        if not is_get or not scope["path"].startswith(f"{contract.models_path}/"):
            await app(scope, receive, send)
            return
        messages: list[Any] = []

        async def keep(message: Any) -> None:
            messages.append(message)

        await app(scope, receive, keep)
        if messages[0]["status"] == SUCCESS:
            model = orjson.loads(b"".join(message.get("body", b"") for message in messages))
            await CannedResponse(SUCCESS, orjson.dumps({"object": "list", "data": [model]}))(scope, receive, send)
            return
        for message in messages:
            await send(message)

    return serve
