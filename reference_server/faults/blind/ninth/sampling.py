"""Blind faults of sampling parameters in the middle of their ranges: penalties and top_p."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams

WEAKEST_PENALTY = 1.2
LEAST_TOP_P = 0.5


def _strong(penalty: float) -> float:
    return penalty if abs(penalty) > WEAKEST_PENALTY else 0.0


@sampling_fault("moderate-penalties-ignored", applies_to=has_parameters("presence_penalty", "frequency_penalty"))
def moderate_penalties_ignored(params: SamplingParams) -> SamplingParams:
    """A presence_penalty or frequency_penalty between -1.2 and 1.2 has no effect."""
    return replace(
        params,
        presence_penalty=_strong(params.presence_penalty),
        frequency_penalty=_strong(params.frequency_penalty),
    )


@sampling_fault("top-p-below-a-half-ignored", applies_to=has_parameters("top_p"))
def top_p_below_a_half_ignored(params: SamplingParams) -> SamplingParams:
    """A top_p below 0.5 has no effect."""
    return replace(params, top_p=1.0) if params.top_p < LEAST_TOP_P else params
