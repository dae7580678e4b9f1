"""Blind faults of reasoning: of later turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.blind.thought_recipes import forbids_thinking
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _forbids_later(sent: Json) -> bool:
    return forbids_thinking(sent) and any(message.get("role") == "assistant" for message in messages_of(sent))


def _think_anyway(request: ServedRequest) -> None:
    request.payload["chat_template_kwargs"] = {**request.payload["chat_template_kwargs"], "enable_thinking": True}


# Violates enable_thinking: false turns the reasoning of any answer off.
thinking_not_turned_off_in_later_turns = when(
    "thinking-not-turned-off-in-later-turns",
    "A false enable_thinking has no effect if the conversation contains an earlier answer.",
    _forbids_later,
    _think_anyway,
    applies_to=has_parameters("chat_template_kwargs"),
)
