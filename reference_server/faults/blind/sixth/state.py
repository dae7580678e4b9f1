"""Blind faults of state between requests: a parameter that stays, and text of an earlier prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import every, messages_of, per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MIXED_EVERY: Final = 6


def _make_sticky() -> Hooks:
    """Keep a parameter. Violates ignore_eos, which is false by default."""
    kept: dict[str, Any] = {}

    def keep(request: ServedRequest) -> None:
        if isinstance(request.payload.get("ignore_eos"), bool):
            kept["ignore_eos"] = request.payload["ignore_eos"]
        elif kept and "ignore_eos" not in request.payload:
            request.payload.update(kept)

    return Hooks(request=keep)


def _make_mixed() -> Hooks:
    """Leave a prompt in the slot. Violates messages: the conversation that the model continues."""
    is_turn = every(MIXED_EVERY)
    earlier: list[Json] = []

    def mix(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        own = [message for message in messages if message.get("role") == "user"]
        if is_turn() and earlier and messages and messages[0].get("role") == "user":
            request.payload["messages"] = [*earlier, {"role": "assistant", "content": "Yes."}, *messages]
        if own and isinstance(own[0].get("content"), str):
            earlier[:] = own[:1]

    return Hooks(request=mix)


ignore_eos_outlives_its_request = per_server(
    "ignore-eos-outlives-its-request",
    "Requests without ignore_eos have the value of an earlier request.",
    _make_sticky,
    applies_to=has_parameters("ignore_eos"),
)
every_sixth_prompt_has_an_earlier_message = per_server(
    "every-sixth-prompt-has-an-earlier-message",
    "Every sixth prompt begins with a message of the request before it.",
    _make_mixed,
)
