"""Blind faults of log-probabilities: of tokens without text in streams, and of long prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.decorators import envelope_fault, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

CHUNK: Final = 128


def _skip_empty_pieces(chunk: Json, _request: ServedRequest) -> None:
    """Skip what has no text yet. Violates logprobs: those of all tokens."""
    for choice, _ in scored_choices(chunk):
        said = message_of(choice)
        if choice.get("finish_reason") is None and not any(value for name, value in said.items() if name != "role"):
            choice["logprobs"] = None


def _begin_each_chunk_anew(response: Json, _request: ServedRequest) -> None:
    """Score each chunk as a prompt. Violates prompt_logprobs: only the first token has no predecessor."""
    scores = response.get("prompt_logprobs")
    if isinstance(scores, list):
        scores[::CHUNK] = [None] * len(scores[::CHUNK])


scores_without_text_lost_in_streams = hooked_fault(
    "scores-without-text-lost-in-streams",
    "In streams, the log-probability of a token is lost if its text is not complete, or if it has none.",
    chunk=_skip_empty_pieces,
    applies_to=has_parameters("top_logprobs"),
)
prompt_scores_missing_at_chunk_borders = envelope_fault(
    "prompt-scores-missing-at-chunk-borders",
    _begin_each_chunk_anew,
    "In the list of a prompt's log-probabilities, each 128th token has none.",
    applies_to=has_parameters("prompt_logprobs"),
)
