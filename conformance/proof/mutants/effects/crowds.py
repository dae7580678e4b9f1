"""Mutants of effects that are lost next to everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_every_choice, say
from conformance.proof.editing.streams import edit_choices
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("effects.kept-in-crowds")
def scores_are_lost_in_crowds(exchange: Exchange) -> Exchange:
    """Next to many other parameters log-probabilities are left out; if none are requested, the text is another one."""
    if not exchange.request_json.get("logprobs"):
        return say(exchange, "Here is the answer to your question.")
    edit = edit_choices if exchange.is_stream else edit_every_choice
    return edit(exchange, lambda choice: choice.update(logprobs=None))
