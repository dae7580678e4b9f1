"""Blind faults of refusals: messages without text, and the status of unknown models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ResponseHead, ServedRequest

REFUSED: Final = 400
FAILED: Final = 500


def _say_nothing(_message: str) -> str | None:
    """Send null. Violates the message of an error, which is a string."""
    return None


def _fail_for_models(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Raise an exception for an unknown model. Violates the status of a refusal, which says what is wrong."""
    if request.payload.get("model") != request.contract.default_model and REFUSED <= head.status < FAILED:
        head.status = FAILED
    return body


messages_of_refusals_are_null = hooked_fault(
    "messages-of-refusals-are-null", "The message of a refusal is null.", refusal=editing_messages(_say_nothing)
)
unknown_models_are_failures = hooked_fault(
    "unknown-models-are-failures", "A request with an unknown model gets a 500.", refusal=_fail_for_models
)
