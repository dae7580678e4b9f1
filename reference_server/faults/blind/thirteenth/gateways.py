"""Blind faults of gateways: the model that one of two replicas names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.gateway_recipes import replica_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _name_deployment(response: Json, _request: ServedRequest) -> None:
    """Pass on the name of a deployment. Violates model: the model of the request."""
    if isinstance(response.get("model"), str):
        response["model"] = f"{response['model'].rpartition('/')[2]}-eu-2"


second_replica_names_its_deployment = replica_fault(
    "second-replica-names-its-deployment",
    "One of two replicas names its deployment as the model of an answer. It answers every other request.",
    edit=_name_deployment,
)
