"""Blind faults of log-probabilities: alternatives next to top_k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_LISTED: Final = 20


def _list_candidates(response: Json, request: ServedRequest) -> None:
    """List the tokens that may be chosen. Violates top_logprobs: the number of most likely tokens."""
    top_k = request.payload.get("top_k")
    if not is_whole(top_k, 1, MOST_LISTED):
        return
    for _, entries in scored_choices(response):
        for entry in entries:
            entry["top_logprobs"] = (entry.get("top_logprobs") or [])[:top_k]


alternatives_limited_by_top_k = hooked_fault(
    "alternatives-limited-by-top-k",
    "No more than top_k tokens are listed as the most likely ones, if the request has a top_k.",
    answer=_list_candidates,
    chunk=_list_candidates,
    applies_to=has_parameters("top_logprobs", "top_k"),
)
