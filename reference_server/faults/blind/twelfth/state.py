"""Blind faults of state between requests: limits and ways of counting that stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole, per_server
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

LIMITS: Final = ("max_tokens", "max_completion_tokens")
MOST_TOKENS: Final = 4_096


def _keep_limits() -> Hooks:
    """Reset a slot in part. Violates max_tokens: a request without it has no limit of its own."""
    kept: dict[str, int] = {}

    def keep(request: ServedRequest) -> None:
        stated = {name: request.payload[name] for name in LIMITS if is_whole(request.payload.get(name), 1, MOST_TOKENS)}
        if stated:
            kept.clear()
            kept.update(stated)
        elif not any(name in request.payload for name in (*LIMITS, "min_tokens")):
            request.payload.update(kept)

    return Hooks(request=keep)


limits_outlive_their_request = per_server(
    "limits-outlive-their-request", "A request without a token limit has that of an earlier request.", _keep_limits
)
