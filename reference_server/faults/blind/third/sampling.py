"""Blind faults of the effects of parameters on single tokens: ends, rewards and least lengths."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams

NEUTRAL: Final = 1.0


@sampling_fault("ignored-ends-appear", applies_to=has_parameters("ignore_eos"))
def ignored_ends_appear(params: SamplingParams) -> SamplingParams:
    """With `ignore_eos`, the ignored end tokens are visible in the text."""
    return replace(params, skip_special_tokens=False) if params.ignore_eos else params


@sampling_fault("rewards-ignored", applies_to=has_parameters("repetition_penalty"))
def rewards_are_ignored(params: SamplingParams) -> SamplingParams:
    """A repetition_penalty below 1 has the effect of 1."""
    return replace(params, repetition_penalty=max(NEUTRAL, params.repetition_penalty))


@sampling_fault("min-tokens-lost-next-to-stop-ids", applies_to=has_parameters("min_tokens", "stop_token_ids"))
def min_tokens_are_lost(params: SamplingParams) -> SamplingParams:
    """`min_tokens` is ignored if there are stop_token_ids."""
    return replace(params, min_tokens=0) if params.stop_token_ids else params
