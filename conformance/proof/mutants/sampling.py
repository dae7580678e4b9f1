"""Mutants of repeatability and of ignore_eos."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import add_tokens, edit_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("sampling.greedy-repeats")
def greedy_answer_changes(exchange: Exchange) -> Exchange:
    """The second greedy answer begins with another word."""
    return edit_text(exchange, lambda text: f"Bye! {text}")


@mutant("sampling.seed-repeats")
def seed_is_ignored(exchange: Exchange) -> Exchange:
    """The second answer with the same seed has another word at its end."""
    return edit_text(exchange, lambda text: f"{text} Bye!")


@mutant("sampling.seed-heeded-in-streams")
def seed_is_ignored_in_streams(exchange: Exchange) -> Exchange:
    """The streamed answer with the same seed has another word at its end."""
    return edit_text(exchange, lambda text: f"{text} Bye!")


@mutant("sampling.eos-ignored", scenario="cut-at-7")
def end_is_obeyed(exchange: Exchange) -> Exchange:
    """With ignore_eos generation ends one token before max_tokens."""
    return add_tokens(exchange, completion=-1)


@mutant("sampling.seed-heeded-with-logprobs", steps="seeded-told")
def seed_is_ignored_with_log_probabilities(exchange: Exchange) -> Exchange:
    """With log-probabilities the seed is ignored."""
    return edit_text(exchange, lambda text: f"{text} and so on")
