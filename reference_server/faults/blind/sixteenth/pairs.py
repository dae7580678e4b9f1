"""Blind faults of two things together: formats next to predictions, and seeds next to tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _has_prediction(sent: Json) -> bool:
    return isinstance(sent.get("prediction"), dict)


def _has_tools(sent: Json) -> bool:
    return bool(sent.get("tools"))


# Violates response_format: drafts of tokens change no answer.
forms_lost_next_to_predictions = when(
    "forms-lost-next-to-predictions",
    "response_format has no effect if the request has a prediction.",
    _has_prediction,
    dropping("response_format"),
    applies_to=has_parameters("prediction", "response_format"),
)
# Violates seed: the same request has the same answer.
seeds_lost_next_to_tools = when(
    "seeds-lost-next-to-tools",
    "seed has no effect if the request has tools.",
    _has_tools,
    dropping("seed"),
    applies_to=has_parameters("seed", "tools"),
)
