"""Blind faults of log-probabilities: bytes of tokens beyond ASCII, and scores that were declined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.score_recipes import all_entries
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LAST_ASCII: Final = 127


def _drop_bytes(response: Json, _request: ServedRequest) -> None:
    """Encode as ASCII or not at all. Violates bytes: those of the token, which are null only for one without text."""
    for entry in all_entries(response):
        if any(byte > LAST_ASCII for byte in entry.get("bytes") or ()):
            entry["bytes"] = None


def _bring_scores(request: ServedRequest) -> None:
    """Ask whether the parameter is there. Violates logprobs: false."""
    if request.payload.get("logprobs") is False:
        request.payload["logprobs"] = True


bytes_of_foreign_tokens_missing = hooked_fault(
    "bytes-of-foreign-tokens-missing",
    "The bytes of tokens with characters beyond ASCII are null.",
    answer=_drop_bytes,
    chunk=_drop_bytes,
    applies_to=has_parameters("top_logprobs"),
)
false_logprobs_bring_scores = hooked_fault(
    "false-logprobs-bring-scores",
    "A request whose logprobs is false gets log-probabilities.",
    request=_bring_scores,
    applies_to=allows(logprobs=False),
)
