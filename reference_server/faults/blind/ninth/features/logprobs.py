"""Blind faults of log-probabilities: a wrong sign, another order, and numbers of other tokens."""

from __future__ import annotations

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


def _sort_by_text(response: Json, _request: ServedRequest) -> None:
    """Keep and list the first tokens of a map. Violates top_logprobs: the most likely tokens."""
    for _, entries in scored_choices(response):
        for entry in entries:
            alternatives = entry.get("top_logprobs") or []
            entry["top_logprobs"] = sorted(alternatives, key=lambda other: str(other.get("token")))


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
alternatives_in_alphabetical_order = hooked_fault(
    "alternatives-in-alphabetical-order",
    "The most likely tokens are in alphabetical order.",
    answer=_sort_by_text,
    chunk=_sort_by_text,
    applies_to=allows(logprobs=True, top_logprobs=5),
)
scores_repeat_in_groups_of_four = hooked_fault(
    "scores-repeat-in-groups-of-four",
    "In plain answers, the log-probability of four tokens in a row is that of the first of them.",
    answer=_repeat_in_drafts,
    applies_to=allows(logprobs=True),
)
