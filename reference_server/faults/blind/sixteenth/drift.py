"""Blind faults that show now and then: answers without a reason, and reasoning in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _lose_reasons() -> Hooks:
    """Answer before the end is noted. Violates finish_reason: why the answer ended."""
    is_turn = every(6)

    def lose(answer: Json, _request: ServedRequest) -> None:
        if is_turn():
            for choice in choices_of(answer):
                choice["finish_reason"] = None

    return Hooks(answer=lose)


def _skip_the_parser() -> Hooks:
    """Parse what one of several workers generates. Violates content: it has no reasoning."""
    is_turn = every(3)

    def leak(answer: Json, _request: ServedRequest) -> None:
        for choice in choices_of(answer):
            said = message_of(choice)
            found = thoughts_of(said)
            if found is not None and is_turn():
                name, thoughts = found
                said["content"] = f"<think>\n{thoughts}\n</think>\n\n{said.get('content') or ''}"
                said[name] = None

    return Hooks(answer=leak)


every_sixth_answer_has_no_reason = per_server(
    "every-sixth-answer-has-no-reason", "The finish reason of every sixth plain answer is null.", _lose_reasons
)
thoughts_leak_now_and_then = per_server(
    "thoughts-leak-now-and-then",
    "The reasoning of every third plain answer that has any is in its content, between tags.",
    _skip_the_parser,
    applies_to=has_parameters("chat_template_kwargs"),
)
