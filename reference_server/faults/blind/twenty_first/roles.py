"""Blind faults of roles: instructions of a developer, and messages of the assistant with empty fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.decorators import has_parameters
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest


def _has_both_instructions(sent: Json) -> bool:
    return {"system", "developer"} <= {str(message.get("role")) for message in messages_of(sent)}


def _drop_developers(request: ServedRequest) -> None:
    messages = messages_of(request.payload)
    request.payload["messages"] = [message for message in messages if message.get("role") != "developer"]


def _knows_developers(contract: Contract) -> bool:
    return "DeveloperMessage" in contract.schemas


def _has_null_calls(sent: Json) -> bool:
    return any("tool_calls" in message and message["tool_calls"] is None for message in messages_of(sent))


# Violates the role developer: instructions that the model follows.
developers_yield_to_systems = when(
    "developers-yield-to-systems",
    "The message of a developer has no effect if there is a system message too.",
    _has_both_instructions,
    _drop_developers,
    applies_to=_knows_developers,
)
# Violates tool_calls, which may be null in a message of the assistant.
null_calls_are_failures = when(
    "null-calls-are-failures",
    "A conversation with a message whose tool_calls is null gets a 500.",
    _has_null_calls,
    failed,
    applies_to=has_parameters("tools"),
)
