"""Blind faults of log-probabilities: tokens without their spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.score_recipes import all_entries
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

SPACE: Final = " "


def _strip_tokens(response: Json, _request: ServedRequest) -> None:
    """Decode each token alone. Violates token: the text of the token."""
    for entry in all_entries(response):
        token = entry.get("token")
        if isinstance(token, str) and token.strip(SPACE) not in ("", token):
            entry["token"] = token.strip(SPACE)
            if isinstance(entry.get("bytes"), list):
                entry["bytes"] = list(bytes(entry["bytes"]).strip(SPACE.encode()))


tokens_of_scores_stripped = hooked_fault(
    "tokens-of-scores-stripped",
    "Tokens in log-probabilities lack the space next to a word, in their text and in their bytes.",
    answer=_strip_tokens,
    chunk=_strip_tokens,
    applies_to=has_parameters("logprobs"),
)
