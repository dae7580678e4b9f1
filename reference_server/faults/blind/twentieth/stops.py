"""Blind faults of stop strings: shown ones in streams, and stop strings next to reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.blind.thought_recipes import thinks
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _is_stream(sent: Json) -> bool:
    return sent.get("stream") is True


# Violates include_stop_str_in_output, which applies to streams too.
shown_stops_lost_in_streams = when(
    "shown-stops-lost-in-streams",
    "In streams, include_stop_str_in_output has no effect.",
    _is_stream,
    dropping("include_stop_str_in_output"),
    applies_to=has_parameters("include_stop_str_in_output"),
)
# Violates stop: the answer after the reasoning ends at these strings. A server may ignore them in the reasoning only.
stops_lost_next_to_thinking = when(
    "stops-lost-next-to-thinking",
    "Stop strings have no effect in an answer with reasoning, not even after the reasoning.",
    thinks,
    dropping("stop"),
    applies_to=has_parameters("stop", "chat_template_kwargs"),
)
