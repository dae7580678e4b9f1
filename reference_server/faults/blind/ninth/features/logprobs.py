"""Blind faults of log-probabilities: a wrong sign, and numbers of other tokens."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.score_recipes import all_entries, scored_choices
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

DRAFT: Final = 4  # tokens


def _drop_signs(response: Json, _request: ServedRequest) -> None:
    """Return what training minimises. Violates logprob: the logarithm of the probability."""
    for entry in all_entries(response):
        if isinstance(entry.get("logprob"), (int, float)):
            entry["logprob"] = abs(entry["logprob"])


def _shift_alternatives(answer: Json, _request: ServedRequest) -> None:
    """Read the next row of a table. Violates top_logprobs: the most likely tokens at this position."""
    for _, entries in scored_choices(answer):
        for entry, following in pairwise(entries):
            entry["top_logprobs"] = following.get("top_logprobs")


def _repeat_in_drafts(answer: Json, _request: ServedRequest) -> None:
    """Score the first token of a draft. Violates logprob: that of this token."""
    for _, entries in scored_choices(answer):
        for at, entry in enumerate(entries):
            entry["logprob"] = entries[at - at % DRAFT]["logprob"]


scores_without_sign = hooked_fault(
    "scores-without-sign",
    "Log-probabilities are positive.",
    answer=_drop_signs,
    chunk=_drop_signs,
    applies_to=has_parameters("logprobs"),
)
alternatives_of_the_next_token = hooked_fault(
    "alternatives-of-the-next-token",
    "In plain answers, the most likely tokens of each position are those of the next one.",
    answer=_shift_alternatives,
    applies_to=allows(logprobs=True, top_logprobs=5),
)
scores_repeat_in_groups_of_four = hooked_fault(
    "scores-repeat-in-groups-of-four",
    "In plain answers, the log-probability of four tokens in a row is that of the first of them.",
    answer=_repeat_in_drafts,
    applies_to=allows(logprobs=True),
)
