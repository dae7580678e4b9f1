"""Blind faults of sampling: filters that keep too much."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams


@sampling_fault("top-k-keeps-one-more", applies_to=has_parameters("top_k"))
def top_k_keeps_one_more(params: SamplingParams) -> SamplingParams:
    """top_k keeps one token more than it says."""
    return replace(params, top_k=params.top_k + 1) if params.top_k > 0 else params
