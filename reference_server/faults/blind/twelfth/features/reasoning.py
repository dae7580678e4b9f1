"""Blind faults of reasoning with several choices: thoughts that are text, and thoughts that end together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_CHOICES: Final = 128


def _move_to_text(said: Json) -> None:
    thoughts = thoughts_of(said)
    if thoughts:
        del said[thoughts[0]]
        said["content"] = thoughts[1] + (said.get("content") or "")


def _leave_in_text(response: Json, request: ServedRequest) -> None:
    """Parse single answers only. Violates content, which has no reasoning."""
    for choice in choices_of(response) if is_whole(request.payload.get("n"), 2, MOST_CHOICES) else ():
        _move_to_text(message_of(choice))


def _share_parser(chunk: Json, request: ServedRequest) -> None:
    """Keep one state for a stream. Violates delta.content: each choice has its own reasoning."""
    answered: set[Any] = request.state.setdefault("answered", set())
    for choice in choices_of(chunk):
        said = message_of(choice)
        if answered - {choice.get("index")}:
            _move_to_text(said)
        elif said.get("content") and not thoughts_of(said):
            answered.add(choice.get("index"))


several_leave_thoughts_in_text = hooked_fault(
    "several-leave-thoughts-in-text",
    "With several choices, the reasoning is at the beginning of the content.",
    answer=_leave_in_text,
    chunk=_leave_in_text,
    applies_to=has_parameters("chat_template_kwargs", "n"),
)
first_answer_ends_all_thoughts = hooked_fault(
    "first-answer-ends-all-thoughts",
    "In a stream with several choices, the reasoning of a choice is content as soon as another one has content.",
    chunk=_share_parser,
    applies_to=has_parameters("chat_template_kwargs", "n"),
)
