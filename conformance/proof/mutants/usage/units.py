"""Mutants of what prompt_tokens counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_usage
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("usage.prompt-in-tokens", steps="notes*")
def characters_are_counted(exchange: Exchange) -> Exchange:
    """Each character of a prompt counts as one token."""
    return edit_usage(exchange, lambda usage: usage.update(prompt_tokens=_count_characters(exchange)))


def _count_characters(exchange: Exchange) -> int:
    sent: Any = exchange.request_json
    return sum(len(message["content"]) for message in sent["messages"])
