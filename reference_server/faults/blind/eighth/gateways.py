"""Blind faults of gateways: replicas of other versions, requests that are written again, and lists of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.gateway_recipes import models_fault, replica_fault, rewriting
from reference_server.faults.blind.recipes import dropping
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _drop_zeros(request: ServedRequest) -> None:
    """Leave out empty numbers. Violates temperature: 0 is a value of its own, and not the default."""
    for name, value in list(request.payload.items()):
        if isinstance(value, (int, float)) and not value:
            del request.payload[name]


def _list_paths(listed: Json) -> None:
    """List where models are stored. Violates models: an id can be used as model in a request."""
    for model in listed.get("data") or ():
        model["id"] = f"/data/models/{model['id']}"


second_replica_ignores_stop = replica_fault(
    "second-replica-ignores-stop",
    "One of two replicas ignores `stop`. It answers every other request.",
    change=dropping("stop"),
    applies_to=has_parameters("stop"),
)
second_replica_ignores_the_new_limit = replica_fault(
    "second-replica-ignores-the-new-limit",
    "One of two replicas, an older version, ignores `max_completion_tokens`. It answers every other request.",
    change=dropping("max_completion_tokens"),
    applies_to=has_parameters("max_completion_tokens"),
)
zero_values_dropped = hooked_fault(
    "zero-values-dropped",
    "A gateway leaves out parameters that are 0 or false, so that a temperature of 0 becomes the default.",
    request=_drop_zeros,
)
empty_lists_become_objects = hooked_fault(
    "empty-lists-become-objects",
    "A gateway writes each empty list of a request as an empty object.",
    request=rewriting([], {}),
)
listed_models_are_paths = models_fault(
    "listed-models-are-paths", "The ids in the list of models are paths, which requests may not name.", _list_paths
)
