"""Mutants of the usage so far in the chunks of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.streams import edit_chunks
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("usage.running-given", scenario="told-on-request", steps="counted")
def usage_so_far_is_left_out(exchange: Exchange) -> Exchange:
    """No chunk with a choice has usage."""
    return edit_chunks(exchange, lambda chunk: chunk["choices"] and chunk.pop("usage", None))


@mutant("usage.running-leads-to-the-last", scenario="told-on-request", steps="counted")
def usage_so_far_counts_another_prompt(exchange: Exchange) -> Exchange:
    """Chunks with a choice count one token of the prompt."""

    def change(chunk: dict[str, Any]) -> None:
        if chunk["choices"] and chunk.get("usage"):
            chunk["usage"]["prompt_tokens"] = 1

    return edit_chunks(exchange, change)
