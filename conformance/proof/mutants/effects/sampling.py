"""Mutants of sampling parameters: they are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import STORY, say
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("effects.temperature-varies", steps="*")
def every_answer_is_greedy(exchange: Exchange) -> Exchange:
    """Every answer is the greedy one, whatever the temperature is."""
    return say(exchange, STORY) if exchange.succeeded else exchange


@mutant("effects.usual-temperature-varies", steps="*")
def usual_temperatures_are_greedy(exchange: Exchange) -> Exchange:
    """Answers at temperature 0.7 are the greedy one."""
    return say(exchange, STORY)


@mutant("effects.usual-top-p-varies", steps="*")
def usual_top_p_leaves_one_token(exchange: Exchange) -> Exchange:
    """Answers with top_p 0.9 are the greedy one."""
    return say(exchange, STORY)


@mutant("effects.widest-leaves-all", steps="[gw][ri][ed][ed]*")
def widest_values_narrow(exchange: Exchange) -> Exchange:
    """A top_p of 1 leaves the likeliest token only."""
    return say(exchange, STORY)


@mutant("effects.top-k-zero-leaves-all", steps="[gz][re]*")
def top_k_of_zero_is_one(exchange: Exchange) -> Exchange:
    """A top_k of 0 leaves the likeliest token only."""
    return say(exchange, STORY)


@mutant("effects.top-p-narrows", steps="narrow.*")
def top_p_is_ignored(exchange: Exchange) -> Exchange:
    """top_p is ignored: answers are as random as without it."""
    return say(exchange, f"{STORY} {exchange.id}")


@mutant("effects.top-k-one-is-greedy", steps="top-one.*")
def top_k_is_ignored(exchange: Exchange) -> Exchange:
    """top_k is ignored: answers are as random as without it."""
    return say(exchange, f"{STORY} {exchange.id}")


@mutant("effects.min-p-narrows", steps="min-p.*")
def min_p_is_ignored(exchange: Exchange) -> Exchange:
    """min_p is ignored: answers are as random as without it."""
    return say(exchange, f"{STORY} {exchange.id}")
