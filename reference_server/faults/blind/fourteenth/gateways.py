"""Blind faults of gateways: a replica without eyes, and ids of users in headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.gateway_recipes import replica_fault
from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.decorators import has_parameters
from reference_server.faults.request_edits import failed
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _drop_images(request: ServedRequest) -> None:
    """Serve text only. Violates image_url: the image belongs to the message."""
    for message in messages_of(request.payload):
        parts = message.get("content")
        rest = [part for part in parts if not _is_image(part)] if isinstance(parts, list) else []
        if rest:
            message["content"] = rest


def _is_image(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "image_url"


def _has_foreign_user(sent: Json) -> bool:
    user = sent.get("user")
    return isinstance(user, str) and any(ord(character) > 255 for character in user)


second_replica_is_blind = replica_fault(
    "second-replica-is-blind",
    "One of two replicas does not see images next to text. It answers every other request.",
    change=_drop_images,
    applies_to=takes("image"),
)
# Violates user: any string.
users_beyond_latin_fail = when(
    "users-beyond-latin-fail",
    "A request gets a 500 if its user has characters that a header cannot have.",
    _has_foreign_user,
    failed,
    applies_to=has_parameters("user"),
)
