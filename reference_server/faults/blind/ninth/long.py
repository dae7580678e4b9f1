"""Blind faults of long requests: the model's turns of long conversations, and many biases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_MESSAGES: Final = 8
MOST_BIASES: Final = 8


def _is_long(sent: Json) -> bool:
    return len(messages_of(sent)) > MOST_MESSAGES and not sent.get("tools")


def _drop_own_turns(request: ServedRequest) -> None:
    """Keep what the user said. Violates messages: the conversation so far."""
    messages = messages_of(request.payload)
    request.payload["messages"] = [message for message in messages if message.get("role") != "assistant"]


def _has_many_biases(sent: Json) -> bool:
    return isinstance(sent.get("logit_bias"), dict) and len(sent["logit_bias"]) > MOST_BIASES


def _keep_first_biases(request: ServedRequest) -> None:
    """Read a part of the map. Violates logit_bias: each of its tokens is biased."""
    request.payload["logit_bias"] = dict(list(request.payload["logit_bias"].items())[:MOST_BIASES])


own_turns_of_long_conversations_lost = when(
    "own-turns-of-long-conversations-lost",
    "Of a conversation of more than eight messages, those of the assistant do not reach the model.",
    _is_long,
    _drop_own_turns,
)
biases_after_the_eighth_lost = when(
    "biases-after-the-eighth-lost",
    "Of more than eight tokens in logit_bias, only the first eight are biased.",
    _has_many_biases,
    _keep_first_biases,
    applies_to=has_parameters("logit_bias"),
)
