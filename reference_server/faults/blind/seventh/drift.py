"""Blind faults that show now and then: answers without text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.decorators import choices_of, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

EMPTY_EVERY: Final = 6


def _make_empty() -> Hooks:
    """Lose the text. Violates message.content: the answer of the model."""
    is_turn = every(EMPTY_EVERY)

    def empty(answer: Json, _request: ServedRequest) -> None:
        if is_turn():
            for choice in choices_of(answer):
                message_of(choice)["content"] = ""
                choice["finish_reason"] = "stop"

    return Hooks(answer=empty)


every_sixth_answer_empty = per_server(
    "every-sixth-answer-empty", "Every sixth plain answer has no text, and ends with the reason stop.", _make_empty
)
