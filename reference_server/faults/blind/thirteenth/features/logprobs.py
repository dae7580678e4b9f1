"""Blind faults of log-probabilities: one chunk late, and of the first choice only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import choice_fault, choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _delay(chunk: Json, request: ServedRequest) -> None:
    """Read them before they are written. Violates logprobs: those of the chunk's own tokens."""
    held: dict[Any, Any] = request.state.setdefault("held", {})
    for choice in choices_of(chunk):
        index = choice.get("index")
        if choice.get("logprobs") or held.get(index):
            choice["logprobs"], held[index] = held.get(index), choice.get("logprobs")


def _forget_later(choice: Json, _request: ServedRequest) -> None:
    """Convert the first sequence only. Violates logprobs, which each choice has."""
    if choice.get("index") and choice.get("logprobs"):
        choice["logprobs"] = None


streamed_scores_one_chunk_late = hooked_fault(
    "streamed-scores-one-chunk-late",
    "Log-probabilities in a stream are in the chunk after that of their token.",
    chunk=_delay,
    applies_to=has_parameters("top_logprobs"),
)
later_choices_lack_scores = choice_fault(
    "later-choices-lack-scores",
    _forget_later,
    "All choices except the first have no log-probabilities.",
    applies_to=has_parameters("logprobs", "n"),
)
