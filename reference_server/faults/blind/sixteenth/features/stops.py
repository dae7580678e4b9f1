"""Blind faults of stop strings: of later choices, and of the ends of streams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.blind.sixteenth.features.later_choices import SplitEngine
from reference_server.faults.decorators import choice_fault, has_parameters
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest


def _ignore_stops(params: SamplingParams) -> SamplingParams:
    """Check the first row of a batch. Violates stop: each choice ends in front of it."""
    return replace(params, stop=())


def _end_without_reason(choice: Json, request: ServedRequest) -> None:
    """Leave the loop early. Violates finish_reason: why the answer ended."""
    if request.payload.get("stop") and choice.get("finish_reason") == "stop":
        choice["finish_reason"] = None


later_choices_miss_stops = Fault(
    "later-choices-miss-stops",
    "Stop strings end the first choice only.",
    has_parameters("n", "stop"),
    lambda app, _contract: app,
    lambda engine: SplitEngine(engine, _ignore_stops),
    affects="sampling",
)
streams_with_stops_lack_a_reason = choice_fault(
    "streams-with-stops-lack-a-reason",
    _end_without_reason,
    "A stream with stop strings has no finish reason, unless the token limit or a call ends it.",
    plain=False,
    applies_to=has_parameters("stop"),
)
