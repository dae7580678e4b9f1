"""Blind faults of concurrent requests: biases and log-probabilities of other requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.body_recipes import swapping_in_crowds
from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest


def _share_biases(crowd: Crowd) -> Hooks:
    """Add biases to the wrong rows of a batch. Violates logit_bias: that of this request."""

    def share(request: ServedRequest) -> None:
        others = [sent["logit_bias"] for sent in crowd.others(request) if isinstance(sent.get("logit_bias"), dict)]
        if others:
            request.payload.setdefault("logit_bias", others[0])

    return Hooks(request=share)


def _exchange_scores(answer: Json, earlier: Any) -> Any:
    """Return scores, and write those of another answer. Violates logprobs: those of this answer's tokens."""
    own = earlier
    for choice, entries in scored_choices(answer):
        own = entries
        choice["logprobs"]["content"] = entries if earlier is None else earlier
    return own


biases_spill_over = crowd_fault(
    "biases-spill-over",
    "A request without logit_bias has that of another request that is running.",
    _share_biases,
    applies_to=has_parameters("logit_bias"),
)
scores_swapped_in_crowds = crowd_fault(
    "scores-swapped-in-crowds",
    "Of three and more concurrent requests, a plain answer has the log-probabilities of the one before it.",
    lambda crowd: swapping_in_crowds(crowd, _exchange_scores),
    applies_to=has_parameters("logprobs"),
)
