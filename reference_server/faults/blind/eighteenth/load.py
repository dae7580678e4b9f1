"""Blind faults of concurrent requests: log-probabilities that the first request of a batch decides on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import ServedRequest

SCORES = ("logprobs", "top_logprobs")


def _follow_first(crowd: Crowd) -> Hooks:
    """Read one request of a batch. Violates logprobs: the log-probabilities of the answer."""

    def drop(request: ServedRequest) -> None:
        first = next(iter(crowd.running.values()), request.payload)
        if request.payload.get("logprobs") is True and not first.get("logprobs"):
            for name in SCORES:
                request.payload.pop(name, None)

    return Hooks(request=drop)


scores_lost_behind_other_requests = crowd_fault(
    "scores-lost-behind-other-requests",
    "A request gets no log-probabilities if an earlier one that is still running does not ask for them.",
    _follow_first,
    applies_to=has_parameters("logprobs"),
)
