"""Faults in the model list and the model addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import answer_matching

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1, "owned_by": "chatproof"}


@wrapping_fault("models-listed-twice")
def models_are_listed_twice(app: ASGIApp, contract: Contract) -> App:
    """Every model is listed twice."""
    data = [_model(contract.default_model)] * 2
    reply = CannedResponse(200, orjson.dumps({"object": "list", "data": data}))
    return answer_matching(app, lambda scope: scope["path"] == contract.models_path, reply)


@wrapping_fault("unknown-models-listed")
def unknown_models_are_listed(app: ASGIApp, contract: Contract) -> App:
    """The list has a model that the server does not have, because it was requested once."""
    data = [_model(name) for name in (contract.default_model, "chatproof-no-such-model")]
    reply = CannedResponse(200, orjson.dumps({"object": "list", "data": data}))
    return answer_matching(app, lambda scope: scope["path"] == contract.models_path, reply)


@wrapping_fault("model-not-found")
def model_is_not_found(app: ASGIApp, contract: Contract) -> App:
    """A listed model is not found by its name."""
    status, body = contract.errors.render("not_found", "unknown model")
    hit = f"{contract.models_path}/"
    return answer_matching(app, lambda scope: scope["path"].startswith(hit), CannedResponse(status, orjson.dumps(body)))


@wrapping_fault("any-model-found")
def any_model_is_found(app: ASGIApp, contract: Contract) -> App:
    """Any model name is found."""
    reply = CannedResponse(200, orjson.dumps(_model("any")))
    return answer_matching(app, lambda scope: scope["path"].startswith(f"{contract.models_path}/"), reply)


@wrapping_fault("models-not-listed")
def models_are_not_listed(app: ASGIApp, contract: Contract) -> App:
    """The list of models is empty."""
    empty = CannedResponse(200, orjson.dumps({"object": "list", "data": []}))
    return answer_matching(app, lambda scope: scope["path"] == contract.models_path, empty)


@wrapping_fault("models-bare-list")
def models_are_a_bare_list(app: ASGIApp, contract: Contract) -> App:
    """The list of models has no envelope."""
    return answer_matching(app, lambda scope: scope["path"] == contract.models_path, CannedResponse(200, b'["mindie"]'))


@wrapping_fault("models-renamed")
def models_are_in_another_member(app: ASGIApp, contract: Contract) -> App:
    """The list of models is in another field than `data`."""
    reply = CannedResponse(200, orjson.dumps({"object": "list", "items": [_model(contract.default_model)]}))
    return answer_matching(app, lambda scope: scope["path"] == contract.models_path, reply)


@wrapping_fault("models-fail-while-busy", flaky=True, applies_to=lambda contract: bool(contract.models_path))
def models_fail_while_busy(app: ASGIApp, contract: Contract) -> App:
    """The list of models gets a 500 while a chat request is processed."""
    _, body = contract.errors.render("engine_failure", "no free worker")
    failure = CannedResponse(500, orjson.dumps(body))
    processed: set[int] = set()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        if is_http and is_chat_request(scope, contract):
            processed.add(id(scope))
            try:
                await app(scope, receive, send)
            finally:
                processed.discard(id(scope))
        else:
            is_list = is_http and scope["path"] == contract.models_path
            await (failure if is_list and processed else app)(scope, receive, send)

    return serve
