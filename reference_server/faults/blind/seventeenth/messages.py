"""Blind faults of conversations: spaces at the end of what is continued, and two kinds of instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

INSTRUCTED: Final[list[Any]] = [
    {"role": "system", "content": "Be short."},
    {"role": "developer", "content": "Be kind."},
    *GREETING,
]


def _strip_continued(request: ServedRequest) -> None:
    """Find the end of the message in the prompt. Violates continue_final_message: the message as it is."""
    messages = messages_of(request.payload)
    if messages and request.payload.get("continue_final_message") is True:
        content = messages[-1].get("content")
        if isinstance(content, str):
            messages[-1]["content"] = content.rstrip()


def _suppress_instructions(request: ServedRequest) -> None:
    """Take the message of a developer for the instructions. Violates messages: all reach the model."""
    messages = messages_of(request.payload)
    if any(message.get("role") == "developer" for message in messages):
        request.payload["messages"] = [message for message in messages if message.get("role") != "system"]


spaces_of_continued_messages_lost = hooked_fault(
    "spaces-of-continued-messages-lost",
    "With continue_final_message, white space at the end of the last message does not reach the model.",
    request=_strip_continued,
    applies_to=has_parameters("continue_final_message"),
)
developers_suppress_instructions = hooked_fault(
    "developers-suppress-instructions",
    "System messages do not reach the model if there is a message of the role developer.",
    request=_suppress_instructions,
    applies_to=allows(messages=INSTRUCTED),
)
