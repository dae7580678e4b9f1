"""Blind faults at limits: the number of stop strings, the least number of tokens, and the length of names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.tool_recipes import calls_of
from reference_server.faults.decorators import has_parameters, hooked_fault, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

MOST_STOPS: Final = 4
FEWEST_TOKENS: Final = 2
LONGEST_NAME: Final = 63


@sampling_fault("single-tokens-become-two", applies_to=has_parameters("max_tokens"))
def single_tokens_become_two(params: SamplingParams) -> SamplingParams:
    """An answer with max_tokens 1 has two tokens."""
    return replace(params, max_tokens=FEWEST_TOKENS) if params.max_tokens == 1 else params


def _drop_stops(request: ServedRequest) -> None:
    """Keep four strings. Violates stop: the answer ends at each of the strings."""
    stops = request.payload.get("stop")
    if isinstance(stops, list) and len(stops) > MOST_STOPS:
        request.payload["stop"] = stops[:MOST_STOPS]


def _cut_names(response: Json, _request: ServedRequest) -> None:
    """Cut the name of a called function. Violates function.name: the name of the function to call."""
    for function in calls_of(response):
        if isinstance(function.get("name"), str):
            function["name"] = function["name"][:LONGEST_NAME]


stops_after_the_fourth_ignored = hooked_fault(
    "stops-after-the-fourth-ignored",
    "Only the first four stop strings end an answer.",
    request=_drop_stops,
    applies_to=has_parameters("stop"),
)
names_of_64_characters_cut = hooked_fault(
    "names-of-64-characters-cut",
    "The name of a called function has at most 63 characters.",
    answer=_cut_names,
    chunk=_cut_names,
    applies_to=has_parameters("tools"),
)
