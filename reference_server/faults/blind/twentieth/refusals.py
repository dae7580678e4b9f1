"""Blind faults of refusals: messages that are not checked, and parts that make the server fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
IN_PARTS: Final = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]


def _skip_unknown_roles(request: ServedRequest) -> None:
    """Check the role of the last message only. Violates role, whose other values are refused."""
    messages = messages_of(request.payload)
    known = [message for message in messages[:-1] if message.get("role") in ROLES]
    if len(known) < len(messages) - 1:
        request.payload["messages"] = [*known, messages[-1]]


def _has_part_without_text(sent: Json) -> bool:
    return any(part.get("type") == "text" and not isinstance(part.get("text"), str) for part in parts_of(sent))


roles_of_earlier_messages_unchecked = hooked_fault(
    "roles-of-earlier-messages-unchecked",
    "A message with an unknown role is ignored, and not refused, unless it is the last one.",
    request=_skip_unknown_roles,
    applies_to=allows(messages=[*GREETING, *GREETING]),
)
# Violates the status of an invalid request.
parts_without_text_are_failures = when(
    "parts-without-text-are-failures",
    "A message with a text part that has no text gets a 500.",
    _has_part_without_text,
    failed,
    applies_to=allows(messages=IN_PARTS),
)
