"""Blind faults of two parameters together: streams with log-probabilities, and several choices with a limit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.blind.delta_recipes import delta_fault
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.engine import Delta, SamplingParams
    from reference_server.faults.blind.delta_recipes import DeltaEdit
    from reference_server.faults.hooks import Json, ServedRequest


def _forget_reason(chunk: Json, request: ServedRequest) -> None:
    """Build chunks with scores in another function. Violates finish_reason: each choice ends with one."""
    for choice in choices_of(chunk) if request.payload.get("logprobs") is True else ():
        choice["finish_reason"] = None


def _count_all_choices(params: SamplingParams) -> DeltaEdit:
    """Compare the tokens of all choices so far with the limit of one. Violates finish_reason: the choice ended."""
    tokens: Counter[int] = Counter()

    def edit(delta: Delta) -> Delta:
        tokens[delta.index] += delta.tokens
        total = sum(count for index, count in tokens.items() if index <= delta.index)
        if delta.index and delta.finish_reason == "stop" and params.max_tokens and total >= params.max_tokens:
            return replace(delta, finish_reason="length", stop_reason=None)
        return delta

    return edit


streamed_reasons_lost_next_to_scores = hooked_fault(
    "streamed-reasons-lost-next-to-scores",
    "Streams with log-probabilities have no finish reason.",
    chunk=_forget_reason,
    applies_to=has_parameters("logprobs"),
)
later_choices_say_length = delta_fault(
    "later-choices-say-length",
    "A later choice says length once the tokens of all choices up to it reach the token limit of one.",
    _count_all_choices,
    applies_to=has_parameters("n"),
)
