"""Blind faults of token counts: prompts that were truncated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import engine_fault
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams


def _keep(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
    """Count in front of the truncation. Violates prompt_tokens: the tokens of the prompt."""
    return prompt, params


truncated_prompts_counted_whole = engine_fault(
    "truncated-prompts-counted-whole",
    "prompt_tokens counts the tokens too that truncate_prompt_tokens has removed.",
    lambda: _keep,
    counts_original=True,
    applies_to=has_parameters("truncate_prompt_tokens"),
    affects="answers",
)
