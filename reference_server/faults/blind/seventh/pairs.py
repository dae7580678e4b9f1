"""Blind faults of two parameters together: several stop strings, and top_p with top_k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_whole, when
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

SMALL: Final = 64


def _has_stops(sent: Json) -> bool:
    stops = sent.get("stop")
    return isinstance(stops, list) and len(stops) > 1 and all(isinstance(stop, str) and stop for stop in stops)


def _keep_first_stop(request: ServedRequest) -> None:
    """Look for the first string. Violates stop: the answer ends at the one that comes first in the text."""
    request.payload["stop"] = request.payload["stop"][:1]


def _has_small_top_k(sent: Json) -> bool:
    return is_whole(sent.get("top_k"), 2, SMALL)


first_listed_stop_only = when(
    "first-listed-stop-only",
    "Of several stop strings, only the first one in the list ends an answer.",
    _has_stops,
    _keep_first_stop,
    applies_to=has_parameters("stop"),
)
top_p_lost_next_to_top_k = when(
    "top-p-lost-next-to-top-k",
    "A top_p has no effect if there is a top_k of at most 64.",
    _has_small_top_k,
    dropping("top_p"),
    applies_to=has_parameters("top_p", "top_k"),
)
