"""Blind faults of long answers: many log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_SCORES: Final = 32


def _keep_first_scores(answer: Json, _request: ServedRequest) -> None:
    """Fill a buffer. Violates logprobs.content: an entry for each token."""
    for _, entries in scored_choices(answer):
        del entries[MOST_SCORES:]


scores_after_the_thirty_second_lost = hooked_fault(
    "scores-after-the-thirty-second-lost",
    "Plain answers have the log-probabilities of the first 32 tokens only.",
    answer=_keep_first_scores,
    applies_to=allows(logprobs=True),
)
