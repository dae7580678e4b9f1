"""Blind faults at limits: stop strings that are null, or that contain the end of a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.validity import allows
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _has_null_stop(sent: Json) -> bool:
    return "stop" in sent and sent["stop"] is None


def _stops_at_lines(sent: Json) -> bool:
    stop: Any = sent.get("stop")
    strings = stop if isinstance(stop, list) else [stop]
    return any(isinstance(string, str) and "\n" in string for string in strings)


# Violates stop, which may be null.
null_stops_fail = when(
    "null-stops-fail", "A stop of null gets a 500.", _has_null_stop, failed, applies_to=allows(stop=None)
)
# Violates stop: any string.
line_feeds_in_stops_fail = when(
    "line-feeds-in-stops-fail",
    "A stop string with a line feed gets a 500.",
    _stops_at_lines,
    failed,
    applies_to=allows(stop=["\n"]),
)
