"""Blind faults at limits: the length of stop strings, the number of alternatives, and characters of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.blind.tool_recipes import calls_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LONGEST_STOP: Final = 6  # characters, in streams
FEWER_FROM: Final = 5  # alternatives


def _drop_long_stops(request: ServedRequest) -> None:
    """Look back a few characters. Violates stop: the answer ends at each of the strings."""
    stops = request.payload.get("stop")
    if request.payload.get("stream") is not True:
        return
    if isinstance(stops, str) and len(stops) > LONGEST_STOP:
        del request.payload["stop"]
    elif isinstance(stops, list) and all(isinstance(stop, str) for stop in stops):
        request.payload["stop"] = [stop for stop in stops if len(stop) <= LONGEST_STOP] or None


def _list_one_fewer(response: Json, _request: ServedRequest) -> None:
    """Drop the least likely. Violates top_logprobs: the number of most likely tokens."""
    for _, entries in scored_choices(response):
        for entry in entries:
            alternatives = entry.get("top_logprobs") or ()
            if len(alternatives) >= FEWER_FROM:
                entry["top_logprobs"] = alternatives[:-1]


def _replace_dashes(response: Json, _request: ServedRequest) -> None:
    """Write an identifier. Violates function.name: the name of the function to call."""
    for function in calls_of(response):
        if isinstance(function.get("name"), str):
            function["name"] = function["name"].replace("-", "_")


long_stops_ignored_in_streams = hooked_fault(
    "long-stops-ignored-in-streams",
    "Stop strings of more than six characters do not end a stream.",
    request=_drop_long_stops,
    applies_to=has_parameters("stop"),
)
five_alternatives_are_four = hooked_fault(
    "five-alternatives-are-four",
    "Of five and more most likely tokens, the last one is not listed.",
    answer=_list_one_fewer,
    chunk=_list_one_fewer,
    applies_to=allows(logprobs=True, top_logprobs=5),
)
dashes_in_names_become_underscores = hooked_fault(
    "dashes-in-names-become-underscores",
    "The name of a called function has underscores in place of dashes.",
    answer=_replace_dashes,
    chunk=_replace_dashes,
    applies_to=has_parameters("tools"),
)
