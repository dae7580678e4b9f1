"""Blind faults of state between requests: conversations that are continued unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of, per_server
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

TURN: Final = 2  # messages


def _continue_chats() -> Hooks:
    """Find a conversation by its first message. Violates messages: the whole conversation so far."""
    kept: dict[str, list[Json]] = {}

    def resume(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        if not messages or request.payload.get("tools") or not isinstance(messages[0].get("content"), str):
            return
        first = messages[0]["content"]
        if len(messages) > TURN and messages[1].get("role") == "assistant":
            kept[first] = messages[:TURN]
        elif len(messages) == 1 and first in kept:
            request.payload["messages"] = [*kept[first], *messages]

    return Hooks(request=resume)


chats_with_one_beginning_continue = per_server(
    "chats-with-one-beginning-continue",
    "A message that began an earlier conversation of several turns continues that conversation.",
    _continue_chats,
)
