"""Blind faults of reasoning: thoughts that the token limit cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choice_fault, has_parameters, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _drop_cut_thoughts(choice: Json, _request: ServedRequest) -> None:
    """Look for the end of the thoughts, and find none. Violates the reasoning of a message: what was generated."""
    said = message_of(choice)
    thoughts = thoughts_of(said)
    if thoughts is not None and choice.get("finish_reason") == "length" and not said.get("content"):
        said[thoughts[0]] = None


cut_thoughts_dropped = choice_fault(
    "cut-thoughts-dropped",
    _drop_cut_thoughts,
    "A plain answer that the token limit cuts within its reasoning has neither reasoning nor content.",
    streamed=False,
    applies_to=has_parameters("chat_template_kwargs"),
)
