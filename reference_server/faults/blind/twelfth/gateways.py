"""Blind faults of gateways: a list of models that says less, and text in another form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.gateway_recipes import models_fault, replica_fault
from reference_server.faults.decorators import choices_of, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _drop_kinds(listed: Json) -> None:
    """List names only. Violates object, which is `model` for each model."""
    for model in listed.get("data") or ():
        model.pop("object", None)


def _send_parts(response: Json, _request: ServedRequest) -> None:
    """Send what another API sends. Violates content, which is a string."""
    for choice in choices_of(response):
        said = message_of(choice)
        if isinstance(said.get("content"), str) and said["content"]:
            said["content"] = [{"type": "text", "text": said["content"]}]


listed_models_lack_their_kind = models_fault(
    "listed-models-lack-their-kind", "In the list of models, no model has an `object`.", _drop_kinds
)
second_replica_sends_parts = replica_fault(
    "second-replica-sends-parts",
    "The text of one of two replicas is a list of parts. It answers every other request.",
    edit=_send_parts,
)
