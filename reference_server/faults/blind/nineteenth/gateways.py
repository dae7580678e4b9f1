"""Blind faults of gateways: replicas without log-probabilities, and parameters that are not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.gateway_recipes import replica_fault
from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _forget_scores(response: Json, _request: ServedRequest) -> None:
    """Run an older version. Violates logprobs, which each answer has if it is true."""
    for choice in choices_of(response):
        if choice.get("logprobs"):
            choice["logprobs"] = None


def _is_not_stored(sent: Json) -> bool:
    return sent.get("store") is False


second_replica_lacks_scores = replica_fault(
    "second-replica-lacks-scores",
    "One of two replicas returns no log-probabilities. It answers every other request.",
    edit=_forget_scores,
    applies_to=has_parameters("logprobs"),
)
# Violates store: a boolean, false by default.
unstored_requests_refused = when(
    "unstored-requests-refused",
    "A request whose `store` is false is refused.",
    _is_not_stored,
    refusing("store: extra inputs are not permitted"),
    applies_to=allows(store=False),
)
