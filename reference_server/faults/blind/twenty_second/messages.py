"""Blind faults of messages: several texts in one, and the role of instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

TEXT: Final = {"type": "text", "text": "Hello"}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text"


def _has_several_texts(message: Json) -> bool:
    content = message.get("content")
    return isinstance(content, list) and sum(map(_is_text, content)) > 1


def _lose_several(request: ServedRequest) -> None:
    """Join the texts only if there is one. Violates content: all parts of a message."""
    for message in messages_of(request.payload):
        if _has_several_texts(message):
            rest = [part for part in message["content"] if not _is_text(part)]
            message["content"] = [*rest, {"type": "text", "text": "\n"}]


def _has_divided_instructions(sent: Json) -> bool:
    return any(message.get("role") == "system" and _has_several_texts(message) for message in messages_of(sent))


def _ask_instructions(request: ServedRequest) -> None:
    """Write a prompt for a model without instructions. Violates the role system, which differs from user."""
    for message in messages_of(request.payload):
        if message.get("role") == "system":
            message["role"] = "user"


several_texts_of_a_message_unread = hooked_fault(
    "several-texts-of-a-message-unread",
    "If a message has two or more parts with text, the model reads a line end in place of them.",
    request=_lose_several,
    applies_to=allows(messages=[{"role": "user", "content": [TEXT, TEXT]}]),
)
# Violates content, which may be a list of parts in a system message too.
instructions_in_several_parts_refused = when(
    "instructions-in-several-parts-refused",
    "A system message with two or more parts is refused.",
    _has_divided_instructions,
    refusing("messages: a system message must be a single text"),
    applies_to=allows(messages=[{"role": "system", "content": [TEXT, TEXT]}, *GREETING]),
)
instructions_become_questions = hooked_fault(
    "instructions-become-questions",
    "System messages reach the model as messages of the user.",
    request=_ask_instructions,
)
