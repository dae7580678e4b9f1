"""Blind faults of token counts: prompts in blocks, and choices that are not counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.delta_recipes import delta_fault
from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import Delta, SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

BLOCK: Final = 16
MOST_TOKENS: Final = 2**31


def _round_up(response: Json, _request: ServedRequest) -> None:
    """Count what is allocated. Violates prompt_tokens: the tokens of the prompt."""
    usage = response.get("usage")
    if isinstance(usage, dict) and is_whole(usage.get("prompt_tokens"), 1, MOST_TOKENS):
        padding = -usage["prompt_tokens"] % BLOCK
        usage["prompt_tokens"] += padding
        usage["total_tokens"] += padding


def _count_first(_params: SamplingParams) -> Callable[[Delta], Delta]:
    """Report the counts of one result. Violates completion_tokens: those of all choices."""
    return lambda delta: replace(delta, tokens=0) if delta.index else delta


prompt_counts_rounded_to_blocks = hooked_fault(
    "prompt-counts-rounded-to-blocks",
    "prompt_tokens is rounded up to a multiple of 16.",
    answer=_round_up,
    chunk=_round_up,
)
later_choices_uncounted = delta_fault(
    "later-choices-uncounted",
    "The tokens of all choices but the first are not counted in completion_tokens.",
    _count_first,
    applies_to=has_parameters("n"),
)
