"""Blind faults of reasoning: the tag in front of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

TAG: Final = "<think>\n"


def _keep_tag(response: Json, request: ServedRequest) -> None:
    """Look for the end only. Violates reasoning: the text between the tags."""
    begun: set[Any] = request.state.setdefault("begun", set())
    for choice in choices_of(response):
        thoughts = thoughts_of(message_of(choice))
        if thoughts and choice.get("index") not in begun:
            begun.add(choice.get("index"))
            name, text = thoughts
            message_of(choice)[name] = TAG + text


thoughts_begin_with_their_tag = hooked_fault(
    "thoughts-begin-with-their-tag",
    "The reasoning begins with the tag <think>.",
    answer=_keep_tag,
    chunk=_keep_tag,
    applies_to=has_parameters("chat_template_kwargs"),
)
