"""Blind faults of parameters that change the meaning of others: seeds, biases and penalties of 0."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_number, when
from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

WARM: Final = 0.8
REWARD: Final = 0.1


@sampling_fault("seeded-requests-are-greedy")
def seeded_requests_are_greedy(params: SamplingParams) -> SamplingParams:
    """With a seed, every temperature is treated as 0."""
    seeded = params.seed is not None and not params.beam_search
    return replace(params, temperature=0.0) if seeded else params


@sampling_fault("greedy-answers-follow-seeds")
def greedy_answers_follow_seeds(params: SamplingParams) -> SamplingParams:
    """With a seed, temperature 0 is treated as 0.8."""
    greedy = params.temperature == 0 and params.seed is not None and not params.beam_search
    return replace(params, temperature=WARM) if greedy else params


@sampling_fault("biases-lost-when-greedy", applies_to=has_parameters("logit_bias"))
def biases_are_lost_when_greedy(params: SamplingParams) -> SamplingParams:
    """At temperature 0, logit_bias is ignored."""
    return replace(params, logit_bias=()) if params.temperature == 0 else params


def _states_no_penalty(sent: Json) -> bool:
    return is_number(sent.get("frequency_penalty"), 0, 0) and sent.get("repetition_penalty") is None


def _reward(request: ServedRequest) -> None:
    request.payload["repetition_penalty"] = REWARD


stated_zero_rewards_repetition = when(
    "stated-zero-rewards-repetition",
    "`frequency_penalty: 0` has the effect of a repetition_penalty near 0.",
    _states_no_penalty,
    _reward,
    applies_to=has_parameters("frequency_penalty", "repetition_penalty"),
)
