"""Blind faults at limits: the length of stop strings, the number of alternatives, and messages that are numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, is_whole, messages_of, refusing, when
from reference_server.faults.blind.validity import allows

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

LONGEST_STOP: Final = 64  # characters
MOST_ALTERNATIVES: Final = 10
GREATEST: Final = 20
NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")


def _has_long_stop(sent: Json) -> bool:
    stops = sent.get("stop")
    listed = stops if isinstance(stops, list) else [stops]
    return any(isinstance(stop, str) and len(stop) > LONGEST_STOP for stop in listed)


def _asks_for_many(sent: Json) -> bool:
    return is_whole(sent.get("top_logprobs"), MOST_ALTERNATIVES + 1, GREATEST)


def _list_fewer(request: ServedRequest) -> None:
    """List ten at most. Violates top_logprobs: the number of most likely tokens."""
    request.payload["top_logprobs"] = MOST_ALTERNATIVES


def _is_number(sent: Json) -> bool:
    contents = [message.get("content") for message in messages_of(sent)[-1:]]
    return any(isinstance(content, str) and NUMBER.fullmatch(content) for content in contents)


def _fail(request: ServedRequest) -> CannedResponse:
    """Parse a message as JSON. Violates messages.content: any text."""
    return fail(request)


stops_of_65_characters_refused = when(
    "stops-of-65-characters-refused",
    "A stop string of more than 64 characters is refused.",
    _has_long_stop,
    refusing("a stop sequence may have at most 64 characters"),
    applies_to=allows(stop="#" * 65),
)
more_than_ten_alternatives_are_ten = when(
    "more-than-ten-alternatives-are-ten",
    "A request for more than ten most likely tokens gets ten.",
    _asks_for_many,
    _list_fewer,
    applies_to=allows(logprobs=True, top_logprobs=20),
)
numbers_as_messages_fail = when(
    "numbers-as-messages-fail", "A conversation whose last message is a number gets a 500.", _is_number, _fail
)
