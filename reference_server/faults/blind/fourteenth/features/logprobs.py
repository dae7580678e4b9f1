"""Blind faults of log-probabilities: the bytes of alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _copy_bytes(response: Json, _request: ServedRequest) -> None:
    """Convert the chosen token each time. Violates top_logprobs.bytes: those of the alternative."""
    for _, entries in scored_choices(response):
        for entry in entries:
            for alternative in entry.get("top_logprobs") or ():
                if "bytes" in alternative:
                    alternative["bytes"] = entry.get("bytes")


alternatives_have_the_bytes_of_the_chosen = hooked_fault(
    "alternatives-have-the-bytes-of-the-chosen",
    "Each alternative of a token has the bytes of the token that was chosen.",
    answer=_copy_bytes,
    chunk=_copy_bytes,
    applies_to=has_parameters("top_logprobs"),
)
