"""Blind faults of sampling parameters: temperatures that apply twice, and lengths that count the prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import engine_fault
from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams


@sampling_fault("temperatures-applied-twice", applies_to=has_parameters("temperature"))
def temperatures_applied_twice(params: SamplingParams) -> SamplingParams:
    """The scores of tokens are divided by the temperature twice."""
    return replace(params, temperature=params.temperature**2)


def _count_prompt(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
    """Compare with the whole length. Violates min_tokens, which counts generated tokens."""
    return prompt, replace(params, min_tokens=max(0, params.min_tokens - len(prompt)))


min_tokens_count_the_prompt = engine_fault(
    "min-tokens-count-the-prompt",
    "The tokens of the prompt count for min_tokens.",
    lambda: _count_prompt,
    applies_to=has_parameters("min_tokens"),
)
