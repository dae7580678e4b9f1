"""Blind faults of sampling: min_p, biases and repetition penalties that have no effect next to another parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_number, when
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

USUAL: Final = 1.0
HOTTEST: Final = 2.0
OTHERS: Final = ("presence_penalty", "frequency_penalty")


def _is_hot(sent: Json) -> bool:
    temperature = sent.get("temperature")
    return is_number(temperature, USUAL, HOTTEST) and temperature != USUAL and is_number(sent.get("min_p"), 0, 1)


def _has_tools(sent: Json) -> bool:
    return bool(sent.get("tools")) and isinstance(sent.get("logit_bias"), dict)


def _has_other_penalty(sent: Json) -> bool:
    return any(sent.get(name) and is_number(sent[name], -HOTTEST, HOTTEST) for name in OTHERS)


# Violates min_p, which applies at any temperature.
min_p_lost_at_high_temperatures = when(
    "min-p-lost-at-high-temperatures",
    "At a temperature above 1, `min_p` has no effect.",
    _is_hot,
    dropping("min_p"),
    applies_to=has_parameters("min_p"),
)
# Violates logit_bias, which applies to any request.
biases_lost_next_to_tools = when(
    "biases-lost-next-to-tools",
    "A logit_bias has no effect if the request has tools.",
    _has_tools,
    dropping("logit_bias"),
    applies_to=allows(tools=[NO_TOOL], logit_bias={"400": 1}),
)
# Violates repetition_penalty, which applies next to the other penalties.
repetition_penalties_lost_next_to_others = when(
    "repetition-penalties-lost-next-to-others",
    "A repetition_penalty has no effect if the request also has a presence or a frequency penalty.",
    _has_other_penalty,
    dropping("repetition_penalty"),
    applies_to=has_parameters("repetition_penalty", *OTHERS),
)
