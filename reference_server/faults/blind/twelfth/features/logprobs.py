"""Blind faults of log-probabilities: those of a last token only, and those of a prompt at other positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _keep_last(answer: Json, _request: ServedRequest) -> None:
    """Put a stream together. Violates content: an entry for each token."""
    for _, entries in scored_choices(answer):
        del entries[:-1]


def _shift(answer: Json, _request: ServedRequest) -> None:
    """Read the row of the position. Violates prompt_logprobs: what the tokens in front of it make likely."""
    scores = answer.get("prompt_logprobs")
    if isinstance(scores, list) and len(scores) > 1:
        answer["prompt_logprobs"] = [scores[0], *scores[2:], scores[-1]]


last_scores_survive = hooked_fault(
    "last-scores-survive",
    "Plain answers have the log-probability of their last token only.",
    answer=_keep_last,
    applies_to=has_parameters("logprobs"),
)
prompt_scores_shifted = hooked_fault(
    "prompt-scores-shifted",
    "The log-probabilities of a prompt are those of the next position.",
    answer=_shift,
    applies_to=has_parameters("prompt_logprobs"),
)
