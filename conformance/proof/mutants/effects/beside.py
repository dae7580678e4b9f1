"""Mutants of sampling parameters that are lost next to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import TALE, edit_text, say
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _vary(exchange: Exchange) -> Exchange:
    """Begin the text differently in each exchange."""
    return edit_text(exchange, lambda text: f"{exchange.id}: {text}")


@mutant("effects.top-k-beside-others", steps="top-one.*")
def top_k_is_lost_beside_others(exchange: Exchange) -> Exchange:
    """Next to other parameters top_k is ignored."""
    return _vary(exchange)


@mutant("effects.top-p-beside-others", steps="narrow.*")
def top_p_is_lost_beside_others(exchange: Exchange) -> Exchange:
    """Next to other parameters top_p is ignored."""
    return _vary(exchange)


@mutant("effects.min-p-beside-others", steps="min-p.*")
def min_p_is_lost_beside_others(exchange: Exchange) -> Exchange:
    """Next to other parameters min_p is ignored."""
    return _vary(exchange)


@mutant("effects.seed-beside-others", steps="seeded*")
def seed_is_lost_beside_others(exchange: Exchange) -> Exchange:
    """Next to other parameters a seed is ignored."""
    return _vary(exchange)


@mutant("effects.seed-beside-tools", steps="seeded*")
def seed_is_lost_beside_tools(exchange: Exchange) -> Exchange:
    """Next to tools a seed is ignored."""
    return _vary(exchange)


@mutant("effects.seed-beside-forms", steps="drawn*")
def seed_is_lost_beside_forms(exchange: Exchange) -> Exchange:
    """Next to a response_format a seed is ignored."""
    return _vary(exchange)


@mutant("effects.temperature-beside-tools", steps="*")
def temperature_is_lost_beside_tools(exchange: Exchange) -> Exchange:
    """Next to tools every answer is the greedy one."""
    return say(exchange, TALE) if exchange.succeeded else exchange


@mutant("effects.temperature-beside-forms", steps="drawn*")
def temperature_is_lost_beside_forms(exchange: Exchange) -> Exchange:
    """Next to a response_format every answer is the same."""
    return say(exchange, TALE) if exchange.succeeded else exchange


@mutant("effects.kept-beside-others", steps="*e")
def penalties_are_lost_beside_others(exchange: Exchange) -> Exchange:
    """Next to other parameters the answer is the one without penalties."""
    return say(exchange, TALE)


@mutant("effects.kept-beside-tools", steps="*s*")
def penalties_are_lost_beside_tools(exchange: Exchange) -> Exchange:
    """Next to tools the answer with a penalty is the one without it."""
    return say(exchange, TALE)
