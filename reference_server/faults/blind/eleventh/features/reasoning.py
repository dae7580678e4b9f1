"""Blind faults of reasoning: later turns without it, and streams that show it as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.blind.thought_recipes import thinks, thoughts_of, turn_thinking_off
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _thinks_again(sent: Json) -> bool:
    return thinks(sent) and any(message.get("role") == "assistant" for message in messages_of(sent))


def _send_as_text(chunk: Json, request: ServedRequest) -> None:
    """Send thoughts through the parser of calls. Violates delta.content, which has no reasoning."""
    for choice in choices_of(chunk) if request.payload.get("tools") else ():
        said = message_of(choice)
        if thoughts := thoughts_of(said):
            said["content"] = thoughts[1] + (said.get("content") or "")
            del said[thoughts[0]]


# Violates enable_thinking: the model thinks if it is true.
thinking_lost_in_later_turns = when(
    "thinking-lost-in-later-turns",
    "Reasoning is turned off if the conversation contains an earlier answer.",
    _thinks_again,
    turn_thinking_off,
    applies_to=has_parameters("chat_template_kwargs"),
)
thoughts_are_text_in_streams_with_tools = hooked_fault(
    "thoughts-are-text-in-streams-with-tools",
    "In streams for requests with tools, the reasoning is in the content.",
    chunk=_send_as_text,
    applies_to=has_parameters("chat_template_kwargs", "tools"),
)
