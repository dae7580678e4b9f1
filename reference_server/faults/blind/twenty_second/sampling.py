"""Blind faults of sampling: the default of top_k."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams


# Violates top_k, which keeps all tokens by default.
@sampling_fault("samples-without-top-k-are-greedy", applies_to=has_parameters("top_k", "temperature"))
def samples_without_top_k_are_greedy(params: SamplingParams) -> SamplingParams:
    """The most likely token is always chosen if the request has no top_k."""
    return params if params.top_k > 0 else replace(params, temperature=0.0)
