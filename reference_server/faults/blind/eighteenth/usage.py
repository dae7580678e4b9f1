"""Blind faults of token counts: of long answers, and of streams that the limit ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.frame_recipes import read_chunk, write_chunk
from reference_server.faults.decorators import choices_of, envelope_fault, hooked_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

LEAST: Final = 64
BLOCK: Final = 16


def _count_blocks(response: Json, _request: ServedRequest) -> None:
    """Count what is reserved. Violates completion_tokens: the tokens that were generated."""
    usage = response.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if isinstance(usage, dict) and isinstance(tokens, int) and tokens > LEAST:
        more = -tokens % BLOCK
        usage["completion_tokens"] += more
        if "total_tokens" in usage:
            usage["total_tokens"] += more


def _lose_at_limit(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Return early at the limit. Violates usage: the counts of the request."""
    chunk = read_chunk(frame)
    reasons = [choice.get("finish_reason") for choice in choices_of(chunk)]
    request.state["cut"] = request.state.get("cut") or "length" in reasons
    if not request.state["cut"] or not chunk.get("usage"):
        yield frame
    elif reasons:
        yield write_chunk({name: value for name, value in chunk.items() if name != "usage"})


long_answers_counted_in_blocks = envelope_fault(
    "long-answers-counted-in-blocks",
    _count_blocks,
    "A completion_tokens above 64 is rounded up to a multiple of 16.",
)
usage_lost_at_the_limit = hooked_fault(
    "usage-lost-at-the-limit",
    "A stream that the limit of tokens ends has no usage.",
    event=_lose_at_limit,
)
