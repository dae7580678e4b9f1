"""Mutants of parameters of beam search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import STORY, edit_answer
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("effects.length-penalty-sign", steps="*")
def length_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """length_penalty has no effect."""
    return edit_answer(exchange, _write_stories)


def _write_stories(answer: dict[str, Any]) -> None:
    for choice in answer["choices"]:
        choice["message"]["content"] = STORY
