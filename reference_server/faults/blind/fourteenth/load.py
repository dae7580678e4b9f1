"""Blind faults of concurrent requests: choices that another request gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.body_recipes import swapping_in_crowds
from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Hooks, Json


def _exchange_second(answer: Json, other: Any) -> Any:
    """Gather sequences by their index. Violates choices: those of this request."""
    choices = answer.get("choices") or []
    if len(choices) < 2:
        return other
    own = choices[1]["message"]
    if other is not None:
        choices[1]["message"] = other
    return own


def _swap_second(crowd: Crowd) -> Hooks:
    return swapping_in_crowds(crowd, _exchange_second, least=2)


second_choices_swapped_in_crowds = crowd_fault(
    "second-choices-swapped-in-crowds",
    "If two requests for several choices run at once, the second choice of one is sent to the other.",
    _swap_second,
    applies_to=has_parameters("n"),
)
