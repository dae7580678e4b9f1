"""Mutants of how stop strings are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("stop.patterns-are-text", steps="with-comma")
def comma_separates_stop_texts(exchange: Exchange) -> Exchange:
    """An answer ends where a part of its stop string occurs."""
    return edit_text(exchange, lambda text: text[: len(text) // 2])
