"""Blind faults of reasoning: tags in messages, and messages in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.blind.thought_recipes import thinks, thoughts_of, turn_thinking_off
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

END: Final = "</think>"


def _mentions_end(sent: Json) -> bool:
    return any(END in str(message.get("content")) for message in messages_of(sent))


def _take_thoughts_for_text(response: Json, request: ServedRequest) -> None:
    """Find the end of the reasoning in the prompt. Violates content: the answer without its reasoning."""
    for choice in choices_of(response) if _mentions_end(request.payload) else ():
        said = message_of(choice)
        found = thoughts_of(said)
        if found is not None:
            name, thoughts = found
            said["content"] = thoughts + (said.get("content") or "")
            del said[name]


def _thinks_about_parts(sent: Json) -> bool:
    return thinks(sent) and any(isinstance(message.get("content"), list) for message in messages_of(sent))


tags_in_messages_end_thoughts = hooked_fault(
    "tags-in-messages-end-thoughts",
    "If a message contains the closing tag of reasoning, the reasoning is part of the content.",
    answer=_take_thoughts_for_text,
    chunk=_take_thoughts_for_text,
    applies_to=has_parameters("chat_template_kwargs"),
)
# Violates enable_thinking: the model thinks if it is true.
thinking_lost_next_to_parts = when(
    "thinking-lost-next-to-parts",
    "Reasoning is turned off if the content of a message is a list of parts.",
    _thinks_about_parts,
    turn_thinking_off,
    applies_to=has_parameters("chat_template_kwargs"),
)
