"""Read and edit the log-probabilities of responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json


def scored_choices(response: Json) -> Iterator[tuple[Json, list[Json]]]:
    """Yield the choices that have log-probabilities of tokens, with their entries."""
    for choice in choices_of(response):
        scores = choice.get("logprobs")
        if isinstance(scores, dict) and scores.get("content"):
            yield choice, scores["content"]


def all_entries(response: Json) -> Iterator[Json]:
    """Yield the entries of all tokens and of their alternatives."""
    for _, entries in scored_choices(response):
        for entry in entries:
            yield entry
            yield from entry.get("top_logprobs") or ()
