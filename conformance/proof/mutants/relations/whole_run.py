"""Mutants of answers that differ from the others to the same request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("relations.same-text-everywhere", scenario="greedy-multibyte")
def one_answer_has_a_spoilt_character(exchange: Exchange) -> Exchange:
    """One of several answers to a request has a replacement character."""
    return edit_text(exchange, lambda text: f"\ufffd{text}")
