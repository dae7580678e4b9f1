"""Blind faults of sampling parameters: the last digits of seeds, a neutral value, and a limit of top_k."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import is_whole, when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

MOST_KEPT = 8


@sampling_fault("seeds-rounded-to-doubles", applies_to=has_parameters("seed"))
def seeds_rounded_to_doubles(params: SamplingParams) -> SamplingParams:
    """Seeds above 2**53 are rounded, so that neighbours have the same effect."""
    return params if params.seed is None else replace(params, seed=min(int(float(params.seed)), 2**64 - 2048))


@sampling_fault("top-k-limited-to-eight", applies_to=has_parameters("top_k"))
def top_k_limited_to_eight(params: SamplingParams) -> SamplingParams:
    """A top_k of more than 8 keeps 8 tokens."""
    return replace(params, top_k=MOST_KEPT) if params.top_k > MOST_KEPT else params


def _asks_for_all_tokens(sent: Json) -> bool:
    return is_whole(sent.get("top_k"), -1, -1)


def _keep_one_token(request: ServedRequest) -> None:
    """Keep at least one token. Violates top_k: -1 keeps all tokens."""
    request.payload["top_k"] = 1


top_k_of_minus_one_is_greedy = when(
    "top-k-of-minus-one-is-greedy",
    "With a top_k of -1, the most likely token is always chosen.",
    _asks_for_all_tokens,
    _keep_one_token,
    applies_to=allows(top_k=-1),
)
