"""Blind faults of log-probabilities: another form, other numbers, other names of tokens, and requests that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, is_number, is_whole, when
from reference_server.faults.blind.score_recipes import all_entries, scored_choices
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

LARGEST_TOP_P: Final = 0.999_999
LARGEST_TOP_K: Final = 2**31
OFFSET: Final = 18.25
MARKERS: Final = str.maketrans({" ": "\u0120", "\n": "\u010a"})
"""The signs that vocabularies have for a space and a line end."""


def _use_older_form(response: Json, _request: ServedRequest) -> None:
    """Send the form of an older endpoint. Violates logprobs, which has a list of content."""
    for choice, entries in list(scored_choices(response)):
        choice["logprobs"] = {
            "tokens": [entry["token"] for entry in entries],
            "token_logprobs": [entry["logprob"] for entry in entries],
            "top_logprobs": [
                {other["token"]: other["logprob"] for other in entry.get("top_logprobs") or ()} for entry in entries
            ],
        }


def _is_filtered(sent: Json) -> bool:
    filtered = is_number(sent.get("top_p"), 0, LARGEST_TOP_P) or is_whole(sent.get("top_k"), 1, LARGEST_TOP_K)
    return sent.get("logprobs") is True and filtered


def _fail(request: ServedRequest) -> CannedResponse:
    """Write the logarithm of zero as JSON. Violates logprobs next to top_p and top_k: a number or none."""
    return fail(request)


def _name_like_a_vocabulary(response: Json, _request: ServedRequest) -> None:
    """Send the names of a vocabulary. Violates token: the text of the token."""
    for entry in all_entries(response):
        entry["token"] = entry["token"].translate(MARKERS)


def _skip_normalisation(response: Json, _request: ServedRequest) -> None:
    """Send what a model computes. Violates logprob: the logarithm of the probability."""
    for entry in all_entries(response):
        if isinstance(entry.get("logprob"), (int, float)):
            entry["logprob"] += OFFSET


scores_in_the_older_form = hooked_fault(
    "scores-in-the-older-form",
    "Log-probabilities are lists of tokens and numbers, like those of completions.",
    answer=_use_older_form,
    chunk=_use_older_form,
    applies_to=has_parameters("logprobs"),
)
scores_next_to_filters_fail = when(
    "scores-next-to-filters-fail",
    "A request for log-probabilities with a top_p below 1 or a top_k gets a 500.",
    _is_filtered,
    _fail,
    applies_to=allows(logprobs=True, top_p=0.5),
)
tokens_named_like_a_vocabulary = hooked_fault(
    "tokens-named-like-a-vocabulary",
    "In log-probabilities, the tokens have signs of a vocabulary in place of spaces and line ends.",
    answer=_name_like_a_vocabulary,
    chunk=_name_like_a_vocabulary,
    applies_to=has_parameters("logprobs"),
)
scores_are_not_normalised = hooked_fault(
    "scores-are-not-normalised",
    "Log-probabilities are the raw scores of tokens.",
    answer=_skip_normalisation,
    chunk=_skip_normalisation,
    applies_to=has_parameters("logprobs"),
)
