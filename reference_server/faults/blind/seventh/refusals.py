"""Blind faults of refusals: those of models, and those of roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import fail, messages_of
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, ServedRequest

ROLES: Final = ("system", "user", "assistant", "tool", "developer", "function")


def _use_default_model(request: ServedRequest) -> None:
    """Answer with another model. Violates model: the model that answers."""
    model: Any = request.payload.get("model")
    if isinstance(model, str) and model:
        request.payload["model"] = request.contract.default_model


def _fail_for_roles(request: ServedRequest) -> CannedResponse | None:
    """Look a role up in a table. Violates the status of a refusal, which says whether to try again."""
    unknown = any(message.get("role") not in ROLES for message in messages_of(request.payload))
    return fail(request) if unknown else None


unknown_models_answered = hooked_fault(
    "unknown-models-answered",
    "A request with an unknown model is answered by the model that the server has.",
    request=_use_default_model,
)
unknown_roles_are_failures = hooked_fault(
    "unknown-roles-are-failures",
    "A request with a message of an unknown role is answered as a failure of the engine.",
    request=_fail_for_roles,
)
