"""Mutants of answers to tasks that change with parameters without an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("relations.tasks-unchanged", steps="turns-more-1")
def a_task_has_another_answer_next_to_many_parameters(exchange: Exchange) -> Exchange:
    """A conversation has another answer next to many parameters."""
    return edit_text(exchange, lambda text: f"I am a pirate. {text}")
