"""Mutants of parameters that favour, allow, forbid or require tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import STORY, add_tokens, say
from conformance.proof.editing.logprobs import edit_each
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("effects.logit-bias-heeded", steps="*")
def logit_bias_is_ignored(exchange: Exchange) -> Exchange:
    """logit_bias has no effect."""
    return say(exchange, "1, 2, 3, 4, 5")


@mutant("effects.bans-heeded", steps="*")
def bans_are_ignored(exchange: Exchange) -> Exchange:
    """A logit_bias of -100 has no effect."""
    return say(exchange, STORY)


@mutant("effects.moderate-bias-heeded", steps="*")
def moderate_biases_are_ignored(exchange: Exchange) -> Exchange:
    """A logit_bias of -12 has no effect."""
    return say(exchange, STORY)


@mutant("effects.logit-bias-whole", steps="leaning")
def half_of_a_bias_is_added(exchange: Exchange) -> Exchange:
    """Only half of a bias is added, so tokens are chosen that rank behind others with the whole bias."""
    return edit_each(exchange, lambda entry: entry.update(logprob=entry["logprob"] - 8.0))


@mutant("effects.allowed-token-ids-heeded", steps="*")
def allowed_tokens_are_ignored(exchange: Exchange) -> Exchange:
    """allowed_token_ids has no effect."""
    return say(exchange, STORY)


@mutant("effects.stop-token-ids-heeded", steps="*")
def stop_tokens_are_ignored(exchange: Exchange) -> Exchange:
    """stop_token_ids has no effect."""
    return exchange if exchange.is_stream else say(exchange, STORY)


@mutant("effects.stop-token-ids-beside-others", steps="*e*")
def stop_tokens_are_ignored_beside_others(exchange: Exchange) -> Exchange:
    """Next to other parameters stop_token_ids has no effect."""
    return say(exchange, STORY) if exchange.succeeded else exchange


@mutant("effects.bad-words-not-said", steps="*")
def bad_words_are_said(exchange: Exchange) -> Exchange:
    """bad_words has no effect."""
    return say(exchange, "1, 2, 3, 4, 5")


@mutant("effects.min-tokens-reached")
def answer_ends_too_soon(exchange: Exchange) -> Exchange:
    """min_tokens is ignored: the answer ends where the model ends it."""
    return add_tokens(exchange, completion=-20)


@mutant("effects.newer-limit-kept")
def newer_limit_is_ignored(exchange: Exchange) -> Exchange:
    """max_completion_tokens is ignored: the answer continues."""
    return add_tokens(exchange, completion=20)


@mutant("effects.special-tokens-skipped", steps="[sk]*e*p*")
def special_tokens_are_always_skipped(exchange: Exchange) -> Exchange:
    """Special tokens are removed, whatever skip_special_tokens is."""
    return exchange if exchange.is_stream else say(exchange, "2 + 3 = 5. And so on.")
