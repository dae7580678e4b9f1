"""Blind faults of long prompts and answers: reasons why they end, and log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole, text_length
from reference_server.faults.decorators import choice_fault, has_parameters
from reference_server.faults.request_edits import LONG

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LONG_LIMIT: Final = 64
MOST_TOKENS: Final = 2**31
LIMITS: Final = ("max_tokens", "max_completion_tokens")


def _claim_to_stop(choice: Json, request: ServedRequest) -> None:
    """Compare with another limit. Violates finish_reason: why the answer ended."""
    if choice.get("finish_reason") == "length" and any(
        is_whole(request.payload.get(name), LONG_LIMIT, MOST_TOKENS) for name in LIMITS
    ):
        choice["finish_reason"] = "stop"


def _lose_scores(choice: Json, request: ServedRequest) -> None:
    """Compute a prompt in parts. Violates logprobs: those of each token."""
    if choice.get("logprobs") is not None and text_length(request.payload) > LONG:
        choice["logprobs"] = None


long_answers_claim_to_stop = choice_fault(
    "long-answers-claim-to-stop",
    _claim_to_stop,
    "An answer that a limit of at least 64 tokens ends has the finish reason stop.",
)
streamed_scores_lost_after_long_prompts = choice_fault(
    "streamed-scores-lost-after-long-prompts",
    _lose_scores,
    "Streams have no log-probabilities if the messages have more than 2,000 characters.",
    plain=False,
    applies_to=has_parameters("top_logprobs"),
)
