"""Blind faults of sampling: top_p next to temperature 0, and temperatures above 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_greedy, is_number, when
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

USUAL: Final = 1.0
HOTTEST: Final = 2.0


def _has_top_p(sent: Json) -> bool:
    return is_number(sent.get("top_p"), 0.001, 0.999)


def _is_greedy_with_top_p(sent: Json) -> bool:
    return is_greedy(sent) and _has_top_p(sent)


def _sample(request: ServedRequest) -> None:
    request.payload["temperature"] = USUAL


def _is_positive(sent: Json) -> bool:
    return is_number(sent.get("temperature"), 0.001, HOTTEST)


def _raise_temperature(request: ServedRequest) -> None:
    request.payload["temperature"] = min(request.payload["temperature"] + USUAL, HOTTEST)


# Violates temperature: 0 means the most likely token, whatever the other parameters are.
top_p_turns_sampling_on = when(
    "top-p-turns-sampling-on",
    "A request with temperature 0 and a top_p below 1 is sampled at temperature 1.",
    _is_greedy_with_top_p,
    _sample,
    applies_to=has_parameters("temperature", "top_p"),
)
# Violates temperature: the number that logits are divided by.
positive_temperatures_raised = when(
    "positive-temperatures-raised",
    "A temperature above 0 is raised by 1, to 2 at most.",
    _is_positive,
    _raise_temperature,
    applies_to=has_parameters("temperature"),
)
