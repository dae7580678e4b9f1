"""Blind faults of state between requests: conversations of one user, and a model that is unloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.recipes import messages_of, per_server
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

REFUSED: Final = 400
FAILED: Final = 500


def _remember_users() -> Hooks:
    """Find a conversation by its user. Violates messages: the whole conversation so far."""
    kept: dict[str, list[Json]] = {}

    def recall(request: ServedRequest) -> None:
        user, messages = request.payload.get("user"), messages_of(request.payload)
        if not isinstance(user, str) or not messages or request.payload.get("tools"):
            return
        request.state["user"], request.state["asked"] = user, messages[-1]
        if len(messages) == 1 and user in kept:
            request.payload["messages"] = [*kept[user], *messages]

    def remember(answer: Json, request: ServedRequest) -> None:
        said = [message_of(choice).get("content") for choice in choices_of(answer)]
        if "user" in request.state and said and said[0]:
            kept[request.state["user"]] = [request.state["asked"], {"role": "assistant", "content": said[0]}]

    return Hooks(request=recall, answer=remember)


def _unload_models() -> Hooks:
    """Unload a model to load another one. Violates the answer, which the model that is served gives."""
    unloaded: list[bool] = []

    def note(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
        named = request.payload.get("model")
        if REFUSED <= head.status < FAILED and isinstance(named, str) and named != request.contract.default_model:
            unloaded[:] = [True]
        return body

    def load(request: ServedRequest) -> CannedResponse | None:
        if request.payload.get("model") != request.contract.default_model or not unloaded:
            return None
        unloaded.clear()
        status, body = request.contract.errors.render("overloaded", "loading the model")
        return CannedResponse(status, orjson.dumps(body))

    return Hooks(request=load, refusal=note)


users_share_a_memory = per_server(
    "users-share-a-memory",
    "A conversation that begins continues the last one of the same `user`.",
    _remember_users,
    applies_to=has_parameters("user"),
)
unknown_models_unload_the_model = per_server(
    "unknown-models-unload-the-model",
    "After a request that names an unknown model, the next request for the known one is refused as overloaded.",
    _unload_models,
)
