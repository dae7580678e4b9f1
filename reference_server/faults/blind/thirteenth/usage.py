"""Blind faults of token counts in streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import envelope_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _add_answer(chunk: Json, _request: ServedRequest) -> None:
    """Count the sequence at its end. Violates prompt_tokens: the tokens of the prompt."""
    usage = chunk.get("usage")
    if isinstance(usage, dict) and usage.get("completion_tokens") and "prompt_tokens" in usage:
        usage["prompt_tokens"] += usage["completion_tokens"]
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]


streamed_prompts_contain_the_answer = envelope_fault(
    "streamed-prompts-contain-the-answer",
    _add_answer,
    "In the usage of streams, prompt_tokens contains the tokens of the answer too.",
    plain=False,
)
