"""Faults in what prompt_tokens counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import envelope_fault, requires_check

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _count_characters(response: Json, request: ServedRequest) -> None:
    usage, messages = response.get("usage"), request.payload.get("messages")
    text = "".join(str(item.get("content")) for item in messages or () if isinstance(item, dict))
    if isinstance(usage, dict) and not text.isascii():
        usage["prompt_tokens"] = len(text)
        usage["total_tokens"] = len(text) + usage["completion_tokens"]


characters_counted = envelope_fault(
    "characters-counted-beyond-ascii",
    _count_characters,
    "The prompt_tokens of messages that are not ASCII are their characters.",
    applies_to=requires_check("prompt.every-character-read"),
)
