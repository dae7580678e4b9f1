"""Mutants of how notes are counted in the parts of a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_usage
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("prompt.notes-counted-alike", steps="agent-without-instructions")
def notes_in_instructions_are_escaped(exchange: Exchange) -> Exchange:
    """A note in instructions adds ten tokens more than in other places."""
    return edit_usage(exchange, lambda usage: usage.update(prompt_tokens=usage["prompt_tokens"] - 10))
