"""Blind faults of sampling: one penalty in the place of another, and a range that is too small."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams

GREATEST: Final = 1.0


# Violates frequency_penalty: it is a parameter of its own, and presence_penalty counts a token once.
@sampling_fault("presence-taken-for-frequency", applies_to=has_parameters("presence_penalty", "frequency_penalty"))
def presence_taken_for_frequency(params: SamplingParams) -> SamplingParams:
    """The value of presence_penalty is also used as the frequency_penalty, whose own value is lost."""
    return replace(params, frequency_penalty=params.presence_penalty)


# Violates frequency_penalty and presence_penalty: -2 to 2.
@sampling_fault("penalties-above-one-are-one", applies_to=has_parameters("presence_penalty", "frequency_penalty"))
def penalties_above_one_are_one(params: SamplingParams) -> SamplingParams:
    """Presence and frequency penalties above 1 have the effect of 1."""
    return replace(
        params,
        presence_penalty=min(params.presence_penalty, GREATEST),
        frequency_penalty=min(params.frequency_penalty, GREATEST),
    )
