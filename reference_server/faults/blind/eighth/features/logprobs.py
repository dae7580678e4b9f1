"""Blind faults of log-probabilities: probabilities in their place, and tokens without an entry."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reference_server.faults.blind.score_recipes import all_entries, scored_choices
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _write_probabilities(response: Json, _request: ServedRequest) -> None:
    """Leave the logarithm out. Violates logprob: the logarithm of the probability."""
    for entry in all_entries(response):
        if isinstance(entry.get("logprob"), (int, float)):
            entry["logprob"] = math.exp(entry["logprob"])


def _leave_chosen_out(response: Json, _request: ServedRequest) -> None:
    """List other tokens only. Violates top_logprobs: the most likely tokens, of which the chosen one may be one."""
    for _, entries in scored_choices(response):
        for entry in entries:
            others = [other for other in entry.get("top_logprobs") or () if other.get("token") != entry.get("token")]
            entry["top_logprobs"] = others


def _drop_first_score(response: Json, request: ServedRequest) -> None:
    """Lose the token of the prefill. Violates logprobs.content: each token of the answer has an entry."""
    for choice, entries in scored_choices(response):
        index = choice.get("index")
        if index not in request.state.setdefault("scored", []):
            request.state["scored"].append(index)
            choice["logprobs"]["content"] = entries[1:]


scores_are_probabilities = hooked_fault(
    "scores-are-probabilities",
    "Log-probabilities are probabilities between 0 and 1.",
    answer=_write_probabilities,
    chunk=_write_probabilities,
    applies_to=has_parameters("logprobs"),
)
chosen_tokens_left_out_of_alternatives = hooked_fault(
    "chosen-tokens-left-out-of-alternatives",
    "The most likely tokens do not contain the chosen one.",
    answer=_leave_chosen_out,
    chunk=_leave_chosen_out,
    applies_to=allows(logprobs=True, top_logprobs=5),
)
first_scores_missing = hooked_fault(
    "first-scores-missing",
    "The first token of an answer has no log-probability.",
    answer=_drop_first_score,
    chunk=_drop_first_score,
    applies_to=allows(logprobs=True),
)
