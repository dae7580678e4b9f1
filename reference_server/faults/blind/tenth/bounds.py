"""Blind faults at limits: temperatures above one, no alternatives, a seed of zero, equal lengths, and one candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_number, is_whole, refusing, when
from reference_server.faults.blind.validity import allows

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json

HOTTEST: Final = 2.0
ABOVE_ONE: Final = 1.000_001


def _is_hot(sent: Json) -> bool:
    return is_number(sent.get("temperature"), ABOVE_ONE, HOTTEST)


def _wants_no_alternatives(sent: Json) -> bool:
    return sent.get("logprobs") is True and is_whole(sent.get("top_logprobs"), 0, 0)


def _has_seed_of_zero(sent: Json) -> bool:
    return is_whole(sent.get("seed"), 0, 0)


def _has_one_length(sent: Json) -> bool:
    limits = [sent[name] for name in ("max_tokens", "max_completion_tokens") if name in sent]
    return is_whole(sent.get("min_tokens"), 1, 2**31) and sent["min_tokens"] in limits


def _has_one_candidate(sent: Json) -> bool:
    return is_whole(sent.get("top_k"), 1, 1)


def _draws_seeds(contract: Contract) -> bool:
    """Apply to dialects that draw a seed for requests without one."""
    return allows(seed=0)(contract) and not isinstance(contract.parameters["seed"].default, int)


temperatures_above_one_refused = when(
    "temperatures-above-one-refused",
    "A temperature above 1 is refused.",
    _is_hot,
    refusing("temperature must be at most 1"),
    applies_to=allows(temperature=1.5),
)
# Violates logprobs: true returns those of the tokens.
zero_alternatives_hide_scores = when(
    "zero-alternatives-hide-scores",
    "A top_logprobs of 0 turns log-probabilities off.",
    _wants_no_alternatives,
    dropping("logprobs", "top_logprobs"),
    applies_to=allows(logprobs=True, top_logprobs=0),
)
# Violates seed: the same seed brings the same answer.
seed_of_zero_is_random = when(
    "seed-of-zero-is-random",
    "A seed of 0 counts as none.",
    _has_seed_of_zero,
    dropping("seed"),
    applies_to=_draws_seeds,
)
equal_lengths_refused = when(
    "equal-lengths-refused",
    "A min_tokens that is equal to the limit is refused.",
    _has_one_length,
    refusing("min_tokens must be less than max_tokens"),
    applies_to=allows(min_tokens=5, max_tokens=5),
)
# Violates top_k: the number of tokens to choose from.
top_k_of_one_ignored = when(
    "top-k-of-one-ignored",
    "A top_k of 1 has no effect.",
    _has_one_candidate,
    dropping("top_k"),
    applies_to=allows(top_k=1),
)
