"""Blind faults of concurrent requests: finish reasons and instructions of other requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.body_recipes import swapping_in_crowds
from reference_server.faults.blind.recipes import crowd_fault, messages_of
from reference_server.faults.decorators import choices_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest


def _exchange_reasons(answer: Json, reason: Any) -> Any:
    """Return a reason, and write that of another answer. Violates finish_reason: why this answer ended."""
    own = None
    for choice in choices_of(answer):
        own = own or choice.get("finish_reason")
        choice["finish_reason"] = choice["finish_reason"] if reason is None else reason
    return own


def _share_instructions(crowd: Crowd) -> Hooks:
    """Render with the instructions of all requests. Violates messages: the conversation of this request."""

    def share(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        others = [
            message
            for sent in crowd.others(request)
            for message in messages_of(sent)
            if message.get("role") == "system"
        ]
        if messages and others and messages[0].get("role") == "user":
            request.payload["messages"] = [others[0], *messages]

    return Hooks(request=share)


reasons_swapped_in_crowds = crowd_fault(
    "reasons-swapped-in-crowds",
    "Of three and more concurrent requests, the finish reason of a plain answer is that of the one before it.",
    lambda crowd: swapping_in_crowds(crowd, _exchange_reasons),
)
instructions_spill_over = crowd_fault(
    "instructions-spill-over",
    "A request without a system message has that of another request that is running.",
    _share_instructions,
)
