"""Mutants of `created` over the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_either
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

FACTOR = 1000


@mutant("answer.created-moves-on", steps="*")
def time_runs_backwards(exchange: Exchange) -> Exchange:
    """A later answer has an earlier `created`."""
    return edit_either(exchange, lambda holder: holder.update(created=-int(FACTOR * exchange.started_s)))
