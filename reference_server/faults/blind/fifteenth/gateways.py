"""Blind faults of gateways: a replica that knows one choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.gateway_recipes import replica_fault
from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

MOST_CHOICES: Final = 128


def _want_one(request: ServedRequest) -> None:
    """Ignore what the engine lacks. Violates n: the number of choices."""
    if is_whole(request.payload.get("n"), 2, MOST_CHOICES):
        request.payload["n"] = 1


second_replica_returns_one_choice = replica_fault(
    "second-replica-returns-one-choice",
    "One of two replicas ignores `n` and returns one choice. It answers every other request.",
    change=_want_one,
    applies_to=has_parameters("n"),
)
