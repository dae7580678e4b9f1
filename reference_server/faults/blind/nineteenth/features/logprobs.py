"""Blind faults of log-probabilities: those of answers that end by themselves, and of the end of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.decorators import choice_fault, choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _forget_at_end(choice: Json, request: ServedRequest) -> None:
    """Leave the loop at the last token. Violates logprobs, which each answer has if it is true."""
    if choice.get("finish_reason") == "stop" and choice.get("logprobs") and not request.payload.get("stop"):
        choice["logprobs"] = None


def _repeat_last(chunk: Json, request: ServedRequest) -> None:
    """Flush what is left at the end. Violates logprobs: one entry for each token."""
    latest: dict[Any, Json] = request.state.setdefault("latest", {})
    for choice, entries in scored_choices(chunk):
        latest[choice.get("index")] = entries[-1]
    for choice in choices_of(chunk):
        entry = latest.get(choice.get("index"))
        if choice.get("finish_reason") and entry is not None:
            choice["logprobs"] = {"content": [*((choice.get("logprobs") or {}).get("content") or ()), entry]}


natural_ends_lose_scores = choice_fault(
    "natural-ends-lose-scores",
    _forget_at_end,
    "Plain answers that the model itself ends have no log-probabilities.",
    streamed=False,
    applies_to=has_parameters("logprobs"),
)
last_scores_repeated_at_the_end = hooked_fault(
    "last-scores-repeated-at-the-end",
    "The chunk with the finish reason repeats the log-probabilities of the last token.",
    chunk=_repeat_last,
    applies_to=has_parameters("top_logprobs"),
)
