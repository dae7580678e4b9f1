"""Blind faults of log-probabilities: their base, and tokens that are almost certain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.score_recipes import all_entries, scored_choices
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LEAST_SCORE: Final = -0.0005
"""What a server that writes three decimals shows as 0."""


def _change_base(response: Json, _request: ServedRequest) -> None:
    """Call the wrong function of a library. Violates logprob: the natural logarithm of the probability."""
    for entry in all_entries(response):
        if isinstance(entry.get("logprob"), float):
            entry["logprob"] /= math.log(10)


def _drop_certain_scores(response: Json, _request: ServedRequest) -> None:
    """Take a score of 0 for none. Violates logprobs.content: an entry for each token."""
    for choice, entries in scored_choices(response):
        choice["logprobs"]["content"] = [entry for entry in entries if entry["logprob"] < LEAST_SCORE]


scores_have_another_base = hooked_fault(
    "scores-have-another-base",
    "Log-probabilities are decimal logarithms.",
    answer=_change_base,
    chunk=_change_base,
    applies_to=has_parameters("logprobs"),
)
certain_tokens_lack_scores = hooked_fault(
    "certain-tokens-lack-scores",
    "Log-probabilities leave out tokens that are almost certain.",
    answer=_drop_certain_scores,
    chunk=_drop_certain_scores,
    applies_to=has_parameters("top_logprobs"),
)
