"""Blind faults of long conversations and of what follows long prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole, messages_of, per_server, text_length
from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

MOST_MESSAGES: Final = 10
KEPT: Final = 7
LONG: Final = 2_000  # characters
SPOILED: Final = 3  # requests
FEW: Final = 3  # tokens
GREATEST: Final = 2**31


def _drop_beginning(request: ServedRequest) -> None:
    """Keep the latest messages. Violates messages: the conversation so far."""
    messages = messages_of(request.payload)
    if len(messages) > MOST_MESSAGES and not request.payload.get("tools"):
        system = [message for message in messages[:1] if message.get("role") == "system"]
        request.payload["messages"] = system + messages[-KEPT:]


def _make_spoiled() -> Hooks:
    """Degenerate after a long prompt. Violates finish_reason length: the limit of the request."""
    left = [0]

    def spoil(request: ServedRequest) -> None:
        if text_length(request.payload) > LONG:
            left[0] = SPOILED
        elif left[0] > 0 and is_whole(request.payload.get("max_tokens"), FEW + 1, GREATEST):
            left[0] -= 1
            if not request.payload.get("min_tokens"):
                request.payload["max_tokens"] = FEW

    return Hooks(request=spoil)


long_conversations_lose_their_beginning = hooked_fault(
    "long-conversations-lose-their-beginning",
    "Of a conversation of more than ten messages, the first ones do not reach the model.",
    request=_drop_beginning,
)
long_prompts_shorten_later_answers = per_server(
    "long-prompts-shorten-later-answers",
    "After a prompt of more than 2,000 characters, the next three answers have three tokens.",
    _make_spoiled,
    applies_to=has_parameters("max_tokens"),
)
