"""Blind faults of sampling parameters in the middle of their ranges: biases and temperatures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams

WEAKEST_BIAS = 20
LEAST_TEMPERATURE = 0.5


@sampling_fault("moderate-biases-ignored", applies_to=has_parameters("logit_bias"))
def moderate_biases_ignored(params: SamplingParams) -> SamplingParams:
    """A logit_bias between -20 and 20 has no effect."""
    return replace(params, logit_bias=tuple(pair for pair in params.logit_bias if abs(pair[1]) >= WEAKEST_BIAS))


@sampling_fault("temperatures-below-a-half-greedy", applies_to=has_parameters("temperature"))
def temperatures_below_a_half_greedy(params: SamplingParams) -> SamplingParams:
    """With a temperature below 0.5, the most likely token is always chosen."""
    sampled = params.n == 1 and params.best_of in (None, 1) and not params.beam_search
    return replace(params, temperature=0.0) if sampled and params.temperature < LEAST_TEMPERATURE else params
