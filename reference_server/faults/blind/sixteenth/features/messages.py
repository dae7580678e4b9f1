"""Blind faults of conversations: questions that are asked twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest


def _ask_twice(request: ServedRequest) -> None:
    """Add the question to a history that has it. Violates messages: what was said."""
    messages = messages_of(request.payload)
    has_answer = any(message.get("role") == "assistant" for message in messages)
    if has_answer and messages[-1].get("role") == "user":
        request.payload["messages"] = [*messages, messages[-1]]


last_questions_asked_twice = hooked_fault(
    "last-questions-asked-twice",
    "If a conversation has an earlier answer, its last message of the user reaches the model twice.",
    request=_ask_twice,
)
