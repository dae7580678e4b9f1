"""Faults in the model list and the model addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import around
from reference_server.faults.hooks import Reply
from reference_server.faults.http_gate import reply_instead

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1, "owned_by": "nobody"}


@around("models-listed-twice")
def models_are_listed_twice(app: ASGIApp, contract: Contract) -> Ask:
    """Every model is listed twice."""
    data = [_model(contract.default_model)] * 2
    reply = Reply(200, orjson.dumps({"object": "list", "data": data}))
    return reply_instead(app, lambda scope: scope["path"] == contract.models_path, reply)


@around("model-not-found")
def model_is_not_found(app: ASGIApp, contract: Contract) -> Ask:
    """A model that is listed is not found by its name."""
    status, body = contract.errors.render("not_found", "there is no such model")
    hit = f"{contract.models_path}/"
    return reply_instead(app, lambda scope: scope["path"].startswith(hit), Reply(status, orjson.dumps(body)))


@around("any-model-found")
def any_model_is_found(app: ASGIApp, contract: Contract) -> Ask:
    """Every name is that of a model."""
    reply = Reply(200, orjson.dumps(_model("any")))
    return reply_instead(app, lambda scope: scope["path"].startswith(f"{contract.models_path}/"), reply)


@around("models-not-listed")
def models_are_not_listed(app: ASGIApp, contract: Contract) -> Ask:
    """The list of models is empty."""
    empty = Reply(200, orjson.dumps({"object": "list", "data": []}))
    return reply_instead(app, lambda scope: scope["path"] == contract.models_path, empty)


@around("models-bare-list")
def models_are_a_bare_list(app: ASGIApp, contract: Contract) -> Ask:
    """The list of models stands without its envelope."""
    return reply_instead(app, lambda scope: scope["path"] == contract.models_path, Reply(200, b'["mindie"]'))
