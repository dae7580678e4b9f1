"""Faults in the effect of penalties."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import (
    choices_of,
    has_parameters,
    hooked_fault,
    requires_check,
    sampling_fault,
    variation,
)
from reference_server.faults.topics.effects.sampling import ignored

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest


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


@sampling_fault("repetition-never-rewarded", applies_to=requires_check("effects.repetition-reward-heeded"))
def repetition_is_never_rewarded(params: SamplingParams) -> SamplingParams:
    """A repetition_penalty below 1 is raised to 1."""
    return replace(params, repetition_penalty=max(1.0, params.repetition_penalty))


def _multiplied(name: str, line: str, factor: float) -> Fault:
    """Make a fault that changes the size of both penalties."""

    def multiply(params: SamplingParams) -> SamplingParams:
        presence, frequency = params.presence_penalty * factor, params.frequency_penalty * factor
        return replace(params, presence_penalty=presence, frequency_penalty=frequency)

    multiply.__doc__ = line
    return sampling_fault(name, applies_to=requires_check("effects.penalties-whole"), bugs=[166])(multiply)


@sampling_fault("penalties-capped", applies_to=requires_check("effects.penalties-drawn"))
def penalties_are_capped(params: SamplingParams) -> SamplingParams:
    """Penalties above 1 count as 1."""
    presence, frequency = min(1.0, params.presence_penalty), min(1.0, params.frequency_penalty)
    return replace(params, presence_penalty=presence, frequency_penalty=frequency)


penalties_doubled = _multiplied("penalties-doubled", "Penalties are applied twice.", 2)
penalties_halved = _multiplied("penalties-halved", "Penalties have half of their size.", 0.5)


def _include_penalties(response: Json, request: ServedRequest) -> None:
    """Subtract the penalties from the log-probabilities of plain answers; the rest of the vocabulary gains little."""
    sent = request.payload
    presence, frequency = (sent.get(name) or 0 for name in ("presence_penalty", "frequency_penalty"))
    for choice in choices_of(response) if presence or frequency else ():
        counts: Counter[str] = Counter()
        for entry in (choice.get("logprobs") or {}).get("content") or ():
            items = [entry, *(entry.get("top_logprobs") or ())]
            before = sum(math.exp(item["logprob"]) for item in items[1:])
            for item in items:
                count = counts[item["token"]]
                item["logprob"] -= frequency * count + presence * (count > 0)
            after = sum(math.exp(item["logprob"]) for item in items[1:]) + max(0.0, 1 - before)
            for item in items:
                item["logprob"] = min(0.0, item["logprob"] - math.log(after))
            entry["top_logprobs"] = sorted(items[1:], key=lambda item: -item["logprob"])
            counts[entry["token"]] += 1


penalties_in_logprobs = variation(
    "penalties-in-logprobs",
    "Log-probabilities of plain answers are those after the penalties.",
    answer=_include_penalties,
    applies_to=has_parameters("logprobs", "frequency_penalty"),
)


def _forget_penalties(request: ServedRequest) -> None:
    if request.payload.get("logprobs"):
        for name in ("presence_penalty", "frequency_penalty"):
            request.payload.pop(name, None)


penalties_lost_with_logprobs = hooked_fault(
    "penalties-lost-with-logprobs",
    "Penalties are ignored if log-probabilities are requested.",
    request=_forget_penalties,
    applies_to=requires_check("effects.penalties-at-temperature-0"),
)
