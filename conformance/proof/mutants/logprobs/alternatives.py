"""Mutants of alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.logprobs import alternative, edit_each
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("logprobs.as-many-alternatives-as-asked", scenario="logprobs")
def one_token_lacks_an_alternative(exchange: Exchange) -> Exchange:
    """Tokens have one alternative less than requested, or nine if none were left."""
    return edit_each(
        exchange, lambda entry: entry.update(top_logprobs=entry["top_logprobs"][1:] or [alternative()] * 9)
    )


@mutant("logprobs.alternatives-as-asked-or-fewer")
def nine_alternatives_come_always(exchange: Exchange) -> Exchange:
    """Every token has nine alternatives, whatever the request asks for."""
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=[alternative()] * 9))


@mutant("logprobs.alternatives-sorted", scenario="logprobs")
def alternatives_are_sorted_by_id(exchange: Exchange) -> Exchange:
    """Alternatives are sorted by their ids instead of their likelihood."""
    listed = [alternative("a", -3.0), alternative("b", -0.5), alternative("c", -4.0)]
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=listed))


@mutant("logprobs.alternatives-differ")
def one_alternative_comes_twice(exchange: Exchange) -> Exchange:
    """The same alternative occurs twice in the list."""
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=[alternative()] * 2))


@mutant("logprobs.alternatives-named")
def alternatives_have_no_text(exchange: Exchange) -> Exchange:
    """The alternatives have neither text nor bytes."""
    nameless = [{"token": "", "logprob": -float(number), "bytes": None} for number in range(1, 4)]
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=nameless))
