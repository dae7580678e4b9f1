"""Blind faults of stop strings: those with spaces at their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest


def _strip(stop: str) -> str:
    return stop.strip() or stop


def _strip_stops(request: ServedRequest) -> None:
    """Tidy what a form sends. Violates stop: the string itself ends the answer."""
    stop = request.payload.get("stop")
    if isinstance(stop, str):
        request.payload["stop"] = _strip(stop)
    elif isinstance(stop, list) and all(isinstance(one, str) for one in stop):
        request.payload["stop"] = [_strip(one) for one in stop]


spaces_around_stops_stripped = hooked_fault(
    "spaces-around-stops-stripped",
    "White space at the beginning and the end of stop strings does not count.",
    request=_strip_stops,
)
