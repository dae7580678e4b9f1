"""Blind faults of state between requests: counts, stop strings and conversations that outlive their request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of, per_server
from reference_server.faults.decorators import choices_of, has_parameters
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import keep_last

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _add_up() -> Hooks:
    """Reset a counter too late. Violates completion_tokens: the tokens of this answer."""
    before = [0]

    def add(chunk: Json, _request: ServedRequest) -> None:
        usage, choices = chunk.get("usage"), list(choices_of(chunk))
        is_last = not choices or any(choice.get("finish_reason") for choice in choices)
        if is_last and isinstance(usage, dict) and usage.get("completion_tokens"):
            own = usage["completion_tokens"]
            usage["completion_tokens"] += before[0]
            usage["total_tokens"] += before[0]
            before[0] = own

    return Hooks(chunk=add)


def _keep_stops() -> Hooks:
    """End like before. Violates the default of stop."""
    return Hooks(request=keep_last(("stop",)))


def _continue_chats() -> Hooks:
    """Find a conversation by its first message. Violates messages: the whole conversation so far."""
    kept: dict[str, list[Json]] = {}

    def resume(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        if not messages or request.payload.get("tools") or not isinstance(messages[0].get("content"), str):
            return
        first = messages[0]["content"]
        if len(messages) > 2 and messages[1].get("role") == "assistant":  # noqa: PLR2004 - more than one turn
            kept[first] = messages[:2]
        elif len(messages) == 1 and first in kept:
            request.payload["messages"] = [*kept[first], *messages]

    return Hooks(request=resume)


usage_of_streams_adds_up = per_server(
    "usage-of-streams-adds-up",
    "The usage of a stream includes the completion tokens of the stream before it.",
    _add_up,
)
stops_outlive_their_request = per_server(
    "stops-outlive-their-request",
    "A request without stop has that of an earlier request.",
    _keep_stops,
    applies_to=has_parameters("stop"),
)
chats_with_one_beginning_continue = per_server(
    "chats-with-one-beginning-continue",
    "A message that began an earlier conversation of several turns continues that conversation.",
    _continue_chats,
)
