"""Blind faults of conversations: greetings of the assistant that precede the first question."""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.blind.validity import GREETING, allows
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

OPENED: Final = [{"role": "assistant", "content": "Hello!"}, *GREETING]
INSTRUCTIONS: Final = ("system", "developer")


def _is_answer(message: Json) -> bool:
    return message.get("role") == "assistant" and not message.get("tool_calls")


def _begin_with_user(request: ServedRequest) -> None:
    """Begin with a turn of the user. Violates messages: the assistant may speak first."""
    messages = messages_of(request.payload)
    instructions = [message for message in messages if message.get("role") in INSTRUCTIONS]
    if messages[: len(instructions)] == instructions:
        turns = list(dropwhile(_is_answer, messages[len(instructions) :]))
        if turns and len(instructions) + len(turns) < len(messages):
            request.payload["messages"] = [*instructions, *turns]


first_answers_unread = hooked_fault(
    "first-answers-unread",
    "Messages of the assistant that precede the first message of the user do not reach the model.",
    request=_begin_with_user,
    applies_to=allows(messages=OPENED),
)
