"""Faults at the ends of the ranges of sampling parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import (
    has_parameters,
    sampling_fault,
    variation,
)
from reference_server.faults.hooks import Refusal

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import ServedRequest


HOTTEST: Final = 2.0

MOST_BIASES: Final = 300

LEAST_TEMPERATURE: Final = 0.01


@sampling_fault("least-temperatures-are-highest", bugs=[160])
def least_temperatures_are_the_highest(params: SamplingParams) -> SamplingParams:
    """A temperature between 0 and 0.001 overflows, and tokens are drawn at random."""
    return replace(params, temperature=HOTTEST) if 0 < params.temperature < 1e-3 else params


@sampling_fault("all-tokens-are-one", bugs=[161], applies_to=has_parameters("top_k"))
def all_tokens_are_one(params: SamplingParams) -> SamplingParams:
    """A `top_k` for all tokens, 0 or -1, is raised to 1."""
    return replace(params, top_k=1) if params.top_k < 1 else params


@sampling_fault("bans-capped", bugs=[165], applies_to=has_parameters("logit_bias"))
def bans_are_capped(params: SamplingParams) -> SamplingParams:
    """A negative `logit_bias` is raised to -1."""
    return replace(params, logit_bias=tuple((token, max(bias, -1.0)) for token, bias in params.logit_bias))


@sampling_fault("least-temperatures-raised", benign=True)
def least_temperatures_are_raised(params: SamplingParams) -> SamplingParams:
    """A temperature between 0 and 0.01 is raised to 0.01, as vLLM does."""
    lowest = LEAST_TEMPERATURE if params.temperature > 0 else 0.0
    return replace(params, temperature=max(params.temperature, lowest))


def _limit_biases(request: ServedRequest) -> None:
    biases = request.payload.get("logit_bias")
    if isinstance(biases, dict) and len(biases) > MOST_BIASES:
        raise Refusal("invalid_request", f"logit_bias has more than {MOST_BIASES} entries")


biases_limited = variation(
    "biases-limited",
    "More than 300 entries of `logit_bias` are refused, as OpenAI does.",
    request=_limit_biases,
    applies_to=has_parameters("logit_bias"),
)
