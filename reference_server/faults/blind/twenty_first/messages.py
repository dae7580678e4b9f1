"""Blind faults of messages: equal ones, and long ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

LONGEST: Final = 4_000  # characters


def _drop_repeated(request: ServedRequest) -> None:
    """Store a conversation as a set. Violates messages: the whole conversation, in which users repeat themselves."""
    messages = messages_of(request.payload)
    if messages:
        kept = [message for at, message in enumerate(messages) if message not in messages[at + 1 :]]
        request.payload["messages"] = kept


def _cut_out_middle(request: ServedRequest) -> None:
    """Keep both ends of a string that is too long for a buffer. Violates content: the whole text."""
    for message in text_messages(request):
        text = message["content"]
        if len(text) > LONGEST:
            message["content"] = text[: LONGEST // 2] + text[-LONGEST // 2 :]


repeated_messages_dropped = hooked_fault(
    "repeated-messages-dropped",
    "Of equal messages in a conversation, the model sees the last one only.",
    request=_drop_repeated,
)
long_messages_lose_their_middle = hooked_fault(
    "long-messages-lose-their-middle",
    "Of a message with more than 4,000 characters, the model sees the first and the last 2,000.",
    request=_cut_out_middle,
)
