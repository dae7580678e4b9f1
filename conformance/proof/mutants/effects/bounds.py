"""Mutants of values at the ends of ranges: they have an effect where they must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import TALE, say
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("effects.greedy-at-the-bounds", steps="top_p-*")
def ends_of_top_p_sample(exchange: Exchange) -> Exchange:
    """At the ends of its range top_p turns a greedy answer into a sampled one."""
    return say(exchange, TALE)
