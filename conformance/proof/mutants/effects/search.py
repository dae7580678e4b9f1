"""Mutants of parameters of beam search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import STORY, with_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("effects.length-penalty-sign", steps="*")
def length_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """length_penalty has no effect."""
    return with_text(exchange, STORY)
