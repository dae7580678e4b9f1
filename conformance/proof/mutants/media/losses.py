"""Mutants of servers that lose media: answers, log-probabilities or counts do not depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text, edit_usage
from conformance.proof.editing.logprobs import edit_each, forget_the_prompt
from conformance.proof.editing.streams import edit_deltas
from conformance.proof.mutants.mutant import Mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def guess(exchange: Exchange) -> Exchange:
    if not exchange.is_stream:
        return edit_text(exchange, lambda _: "Grey.")
    parts = iter(["Grey."])
    return edit_deltas(exchange, lambda delta: delta.update(content=next(parts, "")))


def one_answer(check: str, defect: str, steps: str) -> Mutant:
    """Return a mutant of a server whose answer does not depend on the media."""
    return Mutant(check, defect, guess, steps=steps)


def unread(check: str, defect: str, steps: str) -> Mutant:
    """Return a mutant of a server whose log-probabilities do not depend on the media."""
    return Mutant(check, defect, lambda exchange: edit_each(exchange, forget_the_prompt), steps=steps)


def uncounted(check: str, defect: str) -> Mutant:
    """Return a mutant of a server that counts one token for the prompt."""

    def of_one_token(exchange: Exchange) -> Exchange:
        return edit_usage(
            exchange, lambda usage: usage.update(prompt_tokens=1, total_tokens=usage["completion_tokens"] + 1)
        )

    return Mutant(check, defect, of_one_token)
