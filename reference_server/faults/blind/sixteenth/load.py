"""Blind faults of concurrent requests: calls that are no longer required, and biases that are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import ServedRequest

FEW: Final = 3  # requests that run at the same time
MANY: Final = 4


def _stop_requiring(crowd: Crowd) -> Hooks:
    """Drop the grammar of the batch. Violates tool_choice: the answer is a call."""

    def note(request: ServedRequest) -> None:
        if crowd.size >= FEW and request.payload.get("tool_choice") == "required":
            request.payload["tool_choice"] = "auto"

    return Hooks(request=note)


def _lose_biases(crowd: Crowd) -> Hooks:
    """Reorder the rows of a batch. Violates logit_bias: it applies whatever else is running."""

    def note(request: ServedRequest) -> None:
        if crowd.size >= MANY:
            request.payload.pop("logit_bias", None)

    return Hooks(request=note)


required_calls_lost_beside_others = crowd_fault(
    "required-calls-lost-beside-others",
    "While two other requests are running, a tool_choice of required has the effect of auto.",
    _stop_requiring,
    applies_to=allows(tools=[NO_TOOL], tool_choice="required"),
)
biases_lost_under_load = crowd_fault(
    "biases-lost-under-load",
    "While three other requests are running, logit_bias has no effect.",
    _lose_biases,
    applies_to=has_parameters("logit_bias"),
)
