"""Blind faults at limits: biases that are empty or above zero, and a choice of tools that is the default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import fail, is_number, refusing, when
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest


def _raises(bias: Any) -> bool:
    return is_number(bias, 0, float("inf")) and bias > 0


def _has_positive_biases(sent: Json) -> bool:
    biases = sent.get("logit_bias")
    return isinstance(biases, dict) and any(_raises(bias) for bias in biases.values())


def _keep_bans(request: ServedRequest) -> None:
    """Ban tokens only. Violates logit_bias: a positive one makes a token more likely."""
    biases = request.payload["logit_bias"]
    request.payload["logit_bias"] = {token: bias for token, bias in biases.items() if not _raises(bias)}


def _has_empty_bias(sent: Json) -> bool:
    return sent.get("logit_bias") == {}


def _fail(request: ServedRequest) -> CannedResponse:
    """Stack a tensor of nothing. Violates logit_bias, which may have no tokens."""
    return fail(request)


def _states_auto(sent: Json) -> bool:
    return sent.get("tool_choice") == "auto" and bool(sent.get("tools"))


positive_biases_ignored = when(
    "positive-biases-ignored",
    "A logit_bias above 0 has no effect.",
    _has_positive_biases,
    _keep_bans,
    applies_to=has_parameters("logit_bias"),
)
empty_biases_fail = when(
    "empty-biases-fail",
    "An empty logit_bias gets a 500.",
    _has_empty_bias,
    _fail,
    applies_to=allows(logit_bias={}),
)
# Violates tool_choice: auto is what a request without it has.
stated_auto_refused = when(
    "stated-auto-refused",
    "A tool_choice of auto is refused, although tools without a tool_choice are accepted.",
    _states_auto,
    refusing("tool_choice: auto is not enabled"),
    applies_to=allows(tools=[NO_TOOL], tool_choice="auto"),
)
