"""Blind faults of reasoning: of later choices, and in streams with tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choice_fault, has_parameters, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _tell_thoughts(choice: Json) -> None:
    """Move the reasoning of a choice to the front of its text."""
    said = message_of(choice)
    thoughts = thoughts_of(said)
    if thoughts is None:
        return
    said["content"] = thoughts[1] + (said.get("content") or "")
    if "delta" in choice:
        del said[thoughts[0]]
    else:
        said[thoughts[0]] = None


def _tell_of_later_choices(choice: Json, _request: ServedRequest) -> None:
    """Keep the state of a parser for the first choice only. Violates the reasoning of each choice."""
    if choice.get("index"):
        _tell_thoughts(choice)


def _tell_next_to_tools(choice: Json, request: ServedRequest) -> None:
    """Parse calls or reasoning, but not both. Violates delta.content: the answer without its reasoning."""
    if request.payload.get("tools"):
        _tell_thoughts(choice)


later_choices_tell_their_thoughts = choice_fault(
    "later-choices-tell-their-thoughts",
    _tell_of_later_choices,
    "With several choices, the reasoning of all but the first is a part of their text.",
    applies_to=has_parameters("chat_template_kwargs", "n"),
)
streams_with_tools_tell_their_thoughts = choice_fault(
    "streams-with-tools-tell-their-thoughts",
    _tell_next_to_tools,
    "In a stream of a request with tools, the reasoning is a part of the text.",
    plain=False,
    applies_to=has_parameters("chat_template_kwargs", "tools"),
)
