"""Mutants of `seed`: it is ignored, constant, truncated or kept for the next request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import STORY, TALE, say
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("effects.seed-not-carried-over", steps="unseeded*")
def seed_is_kept(exchange: Exchange) -> Exchange:
    """Without a seed the seed of the previous request is used."""
    return say(exchange, TALE)


@mutant("effects.null-seed-is-none", steps="null-seeded*")
def null_is_seed_zero(exchange: Exchange) -> Exchange:
    """A seed of null counts as the seed 0."""
    return say(exchange, TALE)


@mutant("effects.unseeded-answers-differ", steps="hot.*")
def seed_is_a_constant(exchange: Exchange) -> Exchange:
    """Without a seed a constant seed is used."""
    return say(exchange, STORY)


@mutant("effects.seeds-differ", steps="seeded*")
def every_seed_is_the_same(exchange: Exchange) -> Exchange:
    """All seeds give the same text."""
    return say(exchange, STORY)


@mutant("effects.seeds-read-whole", steps="seeded*")
def seeds_are_cut_to_32_bits(exchange: Exchange) -> Exchange:
    """A seed and the same one plus 2**32 give the same text."""
    return say(exchange, STORY)


@mutant("effects.seed-zero-repeats", steps="seeded-zero*")
def zero_is_no_seed(exchange: Exchange) -> Exchange:
    """A seed of 0 counts as no seed."""
    return say(exchange, f"{STORY} {exchange.id}")


@mutant("effects.seeds-read-exactly", steps="seeded-*")
def seeds_are_doubles(exchange: Exchange) -> Exchange:
    """A seed beyond 2**53 and the next one give the same text."""
    return say(exchange, STORY)


@mutant("effects.seed-repeats", steps="seeded*")
def seed_is_ignored(exchange: Exchange) -> Exchange:
    """The seed is ignored: every answer is different."""
    return say(exchange, f"{STORY} {exchange.id}")
