"""Servers that keep something of a request for the next one, or take null for 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.mutants.editing import edit_answer, edit_text, with_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

TALE = "Three old sailors once found a door at the bottom of the sea."


@mutant("relations.nothing-carried-over", steps="drawn-after.*")
def instructions_are_kept(exchange: Exchange) -> Exchange:
    """The instructions of the request before are heeded once more."""
    return edit_text(exchange, str.upper)


@mutant("effects.seed-not-carried-over", steps="unseeded*")
def seed_is_kept(exchange: Exchange) -> Exchange:
    """Without a seed the one of the request before is used."""
    return with_text(exchange, TALE)


@mutant("relations.null-as-left-out", steps="nulled.*")
def null_is_zero(exchange: Exchange) -> Exchange:
    """A temperature of null is 0."""
    return with_text(exchange, TALE)


@mutant("effects.null-seed-is-none", steps="null-seeded*")
def null_is_seed_zero(exchange: Exchange) -> Exchange:
    """A seed of null is the seed 0."""
    return with_text(exchange, TALE)


@mutant("finish.null-limits-nothing")
def null_is_a_limit(exchange: Exchange) -> Exchange:
    """A max_tokens of null is 1."""

    def change(answer: dict[str, Any]) -> None:
        answer["choices"][0]["finish_reason"] = "length"
        answer["usage"].update(completion_tokens=1, total_tokens=answer["usage"]["prompt_tokens"] + 1)

    return edit_answer(exchange, change)
