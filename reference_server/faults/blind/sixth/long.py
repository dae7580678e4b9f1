"""Blind faults of long conversations and long answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.delta_recipes import delta_fault
from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import Delta, SamplingParams
    from reference_server.faults.hooks import ServedRequest

MOST_MESSAGES: Final = 10
INTACT: Final = 48  # tokens
BROKEN_EVERY: Final = 8


def _drop_system(request: ServedRequest) -> None:
    """Shift the context. Violates messages: the system message applies to the whole conversation."""
    messages = messages_of(request.payload)
    if len(messages) > MOST_MESSAGES and messages[0].get("role") == "system":
        request.payload["messages"] = messages[1:]


def _break_late_text(params: SamplingParams) -> Callable[[Delta], Delta]:
    """Repeat characters. Violates message.content: the tokens of the model."""
    seen: dict[int, int] = {}

    def spoil(delta: Delta) -> Delta:
        number = seen[delta.index] = seen.get(delta.index, 0) + 1
        plain = params.tools is None and params.grammar is None
        if plain and number > INTACT and number % BROKEN_EVERY == 0 and delta.finish_reason is None:
            return replace(delta, text=delta.text + delta.text)
        return delta

    return spoil


long_conversations_lose_their_system_message = hooked_fault(
    "long-conversations-lose-their-system-message",
    "In a conversation of more than ten messages, the system message does not reach the model.",
    request=_drop_system,
)
long_answers_stutter = delta_fault(
    "long-answers-stutter", "After 48 tokens of an answer, every eighth one is written twice.", _break_late_text
)
