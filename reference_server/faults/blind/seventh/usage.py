"""Blind faults of token counts: of prompts that are cached, and of the pieces of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.validity import reports_cached
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _count_cached_twice(response: Json, _request: ServedRequest) -> None:
    """Add cached tokens. Violates usage.prompt_tokens: the tokens in the prompt."""
    usage = response.get("usage")
    cached = ((usage or {}).get("prompt_tokens_details") or {}).get("cached_tokens")
    if isinstance(usage, dict) and cached:
        usage["prompt_tokens"] += cached
        usage["total_tokens"] += cached


def _count_pieces(chunk: Json, request: ServedRequest) -> None:
    """Count pieces of text. Violates usage.completion_tokens: the tokens in the answer."""
    usage = chunk.get("usage")
    pieces = sum(bool(message_of(choice).get("content")) for choice in choices_of(chunk))
    request.state["pieces"] = request.state.get("pieces", 0) + pieces
    if isinstance(usage, dict) and not chunk.get("choices"):
        usage["completion_tokens"] = request.state["pieces"]
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]


cached_prompts_counted_twice = hooked_fault(
    "cached-prompts-counted-twice",
    "Cached tokens are counted twice in prompt_tokens.",
    answer=_count_cached_twice,
    chunk=_count_cached_twice,
    applies_to=reports_cached,
)
streamed_answers_counted_by_pieces = hooked_fault(
    "streamed-answers-counted-by-pieces",
    "The usage of a stream counts the chunks with text.",
    chunk=_count_pieces,
    applies_to=has_parameters("stream_options"),
)
