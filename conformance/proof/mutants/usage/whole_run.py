"""Mutants of counts that differ from those of other answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import add_tokens
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("usage.prompt-counted-alike", scenario="greedy")
def one_prompt_counts_more(exchange: Exchange) -> Exchange:
    """In one of several answers to a prompt, it counts one more token."""
    return add_tokens(exchange, prompt=1)


@mutant("usage.text-counted-alike", scenario="greedy")
def one_text_counts_more(exchange: Exchange) -> Exchange:
    """In one of several equal answers, the text counts one more token."""
    return add_tokens(exchange, completion=1)
