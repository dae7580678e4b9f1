"""Mutants of penalties: they have no effect, or the wrong sign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import STORY, say
from conformance.proof.editing.streams import FIRST, edit_deltas
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

REPETITIVE = "the sea and the sea and the sea and the sea"


def _with_text(exchange: Exchange, text: str) -> Exchange:
    """Replace the text of an answer, streamed or plain."""
    if not exchange.is_stream:
        return say(exchange, text)
    silent = edit_deltas(exchange, lambda delta: delta.update(content=""))
    return edit_deltas(silent, lambda delta: delta.update(content=text), FIRST)


@mutant("effects.presence-penalty-heeded", steps="[!o]*")
def presence_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """presence_penalty has no effect."""
    return _with_text(exchange, REPETITIVE)


@mutant("effects.frequency-penalty-heeded", steps="[!o]*")
def frequency_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """frequency_penalty has no effect."""
    return _with_text(exchange, REPETITIVE)


@mutant("effects.repetition-penalty-heeded", steps="[!o]*")
def repetition_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """repetition_penalty has no effect."""
    return _with_text(exchange, REPETITIVE)


@mutant("effects.penalties-differ", steps="long-[pf]*")
def presence_grows_like_frequency(exchange: Exchange) -> Exchange:
    """presence_penalty and frequency_penalty give the same text."""
    return _with_text(exchange, f"{REPETITIVE} and {REPETITIVE}")


def _rewarded(exchange: Exchange, penalty: str) -> Exchange:
    return _with_text(exchange, REPETITIVE if exchange.request_json.get(penalty) else STORY)


@mutant("effects.presence-penalty-sign", steps="[!o]*")
def presence_is_rewarded(exchange: Exchange) -> Exchange:
    """presence_penalty has the wrong sign: words are repeated more often."""
    return _rewarded(exchange, "presence_penalty")


@mutant("effects.frequency-penalty-sign", steps="[!o]*")
def frequency_is_rewarded(exchange: Exchange) -> Exchange:
    """frequency_penalty has the wrong sign: words are repeated more often."""
    return _rewarded(exchange, "frequency_penalty")


@mutant("effects.repetition-penalty-sign", steps="[!o]*")
def repetition_is_rewarded(exchange: Exchange) -> Exchange:
    """repetition_penalty has the opposite effect: words are repeated more often."""
    return _rewarded(exchange, "repetition_penalty")


@mutant("effects.negative-penalty-heeded", steps="[br]*")
def negative_penalty_is_ignored(exchange: Exchange) -> Exchange:
    """A penalty below 0 has no effect."""
    return _with_text(exchange, REPETITIVE)


@mutant("effects.repetition-reward-heeded", steps="[be]*")
def repetition_reward_is_ignored(exchange: Exchange) -> Exchange:
    """A repetition_penalty below 1 has no effect."""
    return _with_text(exchange, REPETITIVE)
