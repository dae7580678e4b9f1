"""Blind faults of token counts: messages that do not count, and more cached tokens than the prompt has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.body_recipes import uncounting
from reference_server.faults.blind.validity import reports_cached
from reference_server.faults.decorators import envelope_fault, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _count_more(response: Json, _request: ServedRequest) -> None:
    """Count what the cache holds after the answer. Violates cached_tokens: tokens of the prompt."""
    usage = response.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens_details"), dict):
        usage["prompt_tokens_details"]["cached_tokens"] = usage["total_tokens"] + 1


system_messages_uncounted = hooked_fault(
    "system-messages-uncounted",
    "The words of system messages are not counted in prompt_tokens.",
    answer=uncounting("system"),
    chunk=uncounting("system"),
)
more_tokens_cached_than_sent = envelope_fault(
    "more-tokens-cached-than-sent",
    _count_more,
    "The number of cached tokens is greater than that of all tokens.",
    applies_to=reports_cached,
)
