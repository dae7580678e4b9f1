"""Servers that take a parameter and do nothing with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.mutants.editing import FIRST, add_tokens, edit_deltas, with_text
from conformance.proof.mutants.logprobs import edit_each
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

STORY = "Once upon a time there was a small model that always said the same."
CHORUS = "the sea and the sea and the sea and the sea"


@mutant("effects.temperature-varies", steps="*")
def every_answer_is_greedy(exchange: Exchange) -> Exchange:
    """Every answer is the greedy one, whatever the temperature."""
    return with_text(exchange, STORY)


@mutant("effects.unseeded-answers-differ", steps="hot.*")
def seed_is_a_constant(exchange: Exchange) -> Exchange:
    """Without a seed a constant one is used."""
    return with_text(exchange, STORY)


@mutant("effects.seeds-differ", steps="seeded*")
def every_seed_is_the_same(exchange: Exchange) -> Exchange:
    """All seeds give the same text."""
    return with_text(exchange, STORY)


@mutant("effects.seeds-read-whole", steps="seeded*")
def seeds_are_cut_to_32_bits(exchange: Exchange) -> Exchange:
    """A seed and the same one plus 2**32 give the same text."""
    return with_text(exchange, STORY)


@mutant("effects.seed-repeats", steps="seeded*")
def seed_is_ignored(exchange: Exchange) -> Exchange:
    """The seed is ignored: every answer is another one."""
    return with_text(exchange, f"{STORY} {exchange.id}")


@mutant("effects.top-p-narrows", steps="narrow.*")
def top_p_is_ignored(exchange: Exchange) -> Exchange:
    """top_p is ignored: answers are as random as without it."""
    return with_text(exchange, f"{STORY} {exchange.id}")


@mutant("effects.top-k-one-is-greedy", steps="top-one.*")
def top_k_is_ignored(exchange: Exchange) -> Exchange:
    """top_k is ignored: answers are as random as without it."""
    return with_text(exchange, f"{STORY} {exchange.id}")


@mutant("effects.min-p-narrows", steps="min-p.*")
def min_p_is_ignored(exchange: Exchange) -> Exchange:
    """min_p is ignored: answers are as random as without it."""
    return with_text(exchange, f"{STORY} {exchange.id}")


def _saying(exchange: Exchange, text: str) -> Exchange:
    """An answer of that text, streamed or plain."""
    if not exchange.is_stream:
        return with_text(exchange, text)
    silent = edit_deltas(exchange, lambda delta: delta.update(content=""))
    return edit_deltas(silent, lambda delta: delta.update(content=text), FIRST)


@mutant("effects.presence-penalty-heeded", steps="[!o]*")
def presence_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """presence_penalty changes nothing."""
    return _saying(exchange, CHORUS)


@mutant("effects.frequency-penalty-heeded", steps="[!o]*")
def frequency_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """frequency_penalty changes nothing."""
    return _saying(exchange, CHORUS)


@mutant("effects.repetition-penalty-heeded", steps="[!o]*")
def repetition_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """repetition_penalty changes nothing."""
    return _saying(exchange, CHORUS)


@mutant("effects.penalties-differ", steps="long-[pf]*")
def presence_grows_like_frequency(exchange: Exchange) -> Exchange:
    """presence_penalty and frequency_penalty give the same text."""
    return _saying(exchange, f"{CHORUS} and {CHORUS}")


def _rewarded(exchange: Exchange, penalty: str) -> Exchange:
    return _saying(exchange, CHORUS if exchange.request_json.get(penalty) else STORY)


@mutant("effects.presence-penalty-sign", steps="[!o]*")
def presence_is_rewarded(exchange: Exchange) -> Exchange:
    """presence_penalty has the wrong sign: words are repeated all the more."""
    return _rewarded(exchange, "presence_penalty")


@mutant("effects.frequency-penalty-sign", steps="[!o]*")
def frequency_is_rewarded(exchange: Exchange) -> Exchange:
    """frequency_penalty has the wrong sign: words are repeated all the more."""
    return _rewarded(exchange, "frequency_penalty")


@mutant("effects.repetition-penalty-sign", steps="[!o]*")
def repetition_is_rewarded(exchange: Exchange) -> Exchange:
    """repetition_penalty works the wrong way: words are repeated all the more."""
    return _rewarded(exchange, "repetition_penalty")


@mutant("effects.logit-bias-heeded", steps="*")
def logit_bias_is_ignored(exchange: Exchange) -> Exchange:
    """logit_bias changes nothing."""
    return with_text(exchange, "1, 2, 3, 4, 5")


@mutant("effects.logit-bias-whole", steps="leaning")
def half_of_a_bias_is_added(exchange: Exchange) -> Exchange:
    """Half of a bias is added, so that tokens are chosen which lie behind others of the whole one."""
    return edit_each(exchange, lambda entry: entry.update(logprob=entry["logprob"] - 8.0))


@mutant("effects.allowed-token-ids-heeded", steps="*")
def allowed_tokens_are_ignored(exchange: Exchange) -> Exchange:
    """allowed_token_ids changes nothing."""
    return with_text(exchange, STORY)


@mutant("effects.stop-token-ids-heeded", steps="*")
def stop_tokens_are_ignored(exchange: Exchange) -> Exchange:
    """stop_token_ids changes nothing."""
    return with_text(exchange, STORY)


@mutant("effects.bad-words-not-said", steps="*")
def bad_words_are_said(exchange: Exchange) -> Exchange:
    """bad_words changes nothing."""
    return with_text(exchange, "1, 2, 3, 4, 5")


@mutant("effects.min-tokens-reached")
def answer_ends_too_soon(exchange: Exchange) -> Exchange:
    """min_tokens is ignored: the answer ends where the model ends it."""
    return add_tokens(exchange, completion=-20)


@mutant("effects.newer-limit-kept")
def newer_limit_is_ignored(exchange: Exchange) -> Exchange:
    """max_completion_tokens is ignored: the answer goes on."""
    return add_tokens(exchange, completion=20)


@mutant("effects.negative-penalty-heeded", steps="[br]*")
def negative_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """A penalty below 0 changes nothing."""
    return _saying(exchange, CHORUS)
