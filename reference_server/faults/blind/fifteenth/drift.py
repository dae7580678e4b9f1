"""Blind faults that show now and then: answers without choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _lose_choices() -> Hooks:
    """Withhold what a filter dislikes. Violates choices: one for each that was requested."""
    is_turn = every(7)

    def lose(answer: Json, _request: ServedRequest) -> None:
        if is_turn():
            answer["choices"] = []

    return Hooks(answer=lose)


every_seventh_answer_has_no_choices = per_server(
    "every-seventh-answer-has-no-choices", "The list of choices of every seventh plain answer is empty.", _lose_choices
)
