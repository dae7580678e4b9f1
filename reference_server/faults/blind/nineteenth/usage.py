"""Blind faults of token counts: streams that have not ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import per_server
from reference_server.faults.decorators import choices_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _count_on() -> Hooks:
    """Reset a counter at the end of a stream only. Violates completion_tokens: the tokens of this answer."""
    left = [0]

    def count(chunk: Json, request: ServedRequest) -> None:
        request.state["chunks"] = request.state.get("chunks", 0) + 1
        left[0] += 1
        if any(choice.get("finish_reason") for choice in choices_of(chunk)) or not any(choices_of(chunk)):
            left[0] -= request.state.pop("chunks")

    def add(answer: Json, _request: ServedRequest) -> None:
        usage = answer.get("usage")
        if isinstance(usage, dict) and "completion_tokens" in usage and "total_tokens" in usage:
            usage["completion_tokens"] += left[0]
            usage["total_tokens"] += left[0]
            left[0] = 0

    return Hooks(chunk=count, answer=add)


abandoned_streams_counted_later = per_server(
    "abandoned-streams-counted-later",
    "The usage of a plain answer also counts the chunks of streams that clients have left before the end.",
    _count_on,
)
