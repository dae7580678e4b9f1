"""Blind faults at limits: the number of stop strings and of choices, and the shortest message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, is_whole, messages_of, refusing, when
from reference_server.faults.blind.validity import allows

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

MOST_STOPS: Final = 16
MOST_CHOICES: Final = 4
GREATEST: Final = 128


def _has_many_stops(sent: Json) -> bool:
    return isinstance(sent.get("stop"), list) and len(sent["stop"]) > MOST_STOPS


def _asks_for_many(sent: Json) -> bool:
    return is_whole(sent.get("n"), MOST_CHOICES + 1, GREATEST)


def _return_fewer(request: ServedRequest) -> None:
    """Generate four at most. Violates n: the number of choices."""
    request.payload["n"] = MOST_CHOICES


def _is_short(sent: Json) -> bool:
    contents = [message.get("content") for message in messages_of(sent)[-1:]]
    return any(isinstance(content, str) and len(content) == 1 for content in contents)


def _fail(request: ServedRequest) -> CannedResponse:
    """Fail for a string that is not empty. Violates messages.content: any text."""
    return fail(request)


seventeen_stops_refused = when(
    "seventeen-stops-refused",
    "More than 16 stop strings are refused.",
    _has_many_stops,
    refusing("at most 16 stop sequences are supported"),
    applies_to=allows(stop=[f"#{number}" for number in range(17)]),
)
more_than_four_choices_are_four = when(
    "more-than-four-choices-are-four",
    "A request for more than four choices gets four.",
    _asks_for_many,
    _return_fewer,
    applies_to=allows(n=6, temperature=1.0),
)
single_characters_fail = when(
    "single-characters-fail", "A conversation whose last message is one character gets a 500.", _is_short, _fail
)
