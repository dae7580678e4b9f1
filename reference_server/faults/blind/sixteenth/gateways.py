"""Blind faults of gateways: a replica without log-probabilities, and values that are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.gateway_recipes import replica_fault
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

SCHEMAS: Final = ("tools", "response_format", "functions", "messages")
"""Parameters that are passed on as they are."""


def _forget_scores(request: ServedRequest) -> None:
    """Ignore what the engine lacks. Violates logprobs: those of each token."""
    request.payload.pop("logprobs", None)
    request.payload.pop("top_logprobs", None)


def _without_false(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _without_false(item) for name, item in value.items() if item is not False}


def _omit_false(request: ServedRequest) -> None:
    """Leave out what is empty. Violates parameters whose default is true."""
    sent = request.payload
    kept = {name: sent[name] if name in SCHEMAS else _without_false(sent[name]) for name in sent}
    sent.clear()
    sent.update({name: value for name, value in kept.items() if value is not False})


second_replica_returns_no_scores = replica_fault(
    "second-replica-returns-no-scores",
    "One of two replicas ignores `logprobs`. It answers every other request.",
    change=_forget_scores,
    applies_to=has_parameters("logprobs"),
)
false_values_dropped = hooked_fault(
    "false-values-dropped",
    "Parameters that are false are not passed on to the engine, so that they have their default.",
    request=_omit_false,
    applies_to=has_parameters("parallel_tool_calls"),
)
