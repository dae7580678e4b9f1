"""Faults in the effect of penalties."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import has_parameters, hooked_fault, requires_check, sampling_fault
from reference_server.faults.topics.effects.sampling import ignored

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import ServedRequest


@sampling_fault("presence-as-frequency", applies_to=has_parameters("presence_penalty"))
def presence_as_frequency(params: SamplingParams) -> SamplingParams:
    """`presence_penalty` grows with each repetition like frequency_penalty."""
    return replace(params, presence_penalty=0.0, frequency_penalty=params.frequency_penalty + params.presence_penalty)


@sampling_fault("frequency-as-presence", applies_to=has_parameters("frequency_penalty"))
def frequency_as_presence(params: SamplingParams) -> SamplingParams:
    """`frequency_penalty` counts a token only once, like presence_penalty."""
    return replace(params, frequency_penalty=0.0, presence_penalty=params.frequency_penalty + params.presence_penalty)


@sampling_fault("penalties-reversed", applies_to=has_parameters("presence_penalty"))
def penalties_are_reversed(params: SamplingParams) -> SamplingParams:
    """Penalties have the wrong sign: they make repetition more likely."""
    return replace(
        params,
        presence_penalty=-params.presence_penalty,
        frequency_penalty=-params.frequency_penalty,
        repetition_penalty=1 / params.repetition_penalty,
    )


@sampling_fault("penalties-reward", applies_to=has_parameters("presence_penalty"))
def penalties_reward(params: SamplingParams) -> SamplingParams:
    """Penalties have the wrong sign and four times the size."""
    return replace(
        params, presence_penalty=-4 * params.presence_penalty, frequency_penalty=-4 * params.frequency_penalty
    )


presence_taken = ignored("presence_penalty")
frequency_taken = ignored("frequency_penalty")
repetition_taken = ignored("repetition_penalty")


def _no_rewards(request: ServedRequest) -> None:
    for name in ("presence_penalty", "frequency_penalty"):
        value = request.payload.get(name)
        if isinstance(value, (int, float)) and -2 <= value < 0:
            request.payload[name] = 0


negative_penalties_ignored = hooked_fault(
    "negative-penalties-ignored",
    "Negative penalties are treated as 0.",
    request=_no_rewards,
    applies_to=requires_check("effects.negative-penalty-heeded"),
)
