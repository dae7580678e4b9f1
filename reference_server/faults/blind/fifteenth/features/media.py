"""Blind faults of images: next to instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import without_media
from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _has_instructions(sent: Json) -> bool:
    return any(message.get("role") == "system" for message in messages_of(sent))


def _drop_images(request: ServedRequest) -> None:
    seen = without_media(messages_of(request.payload), "image")
    if all(message.get("content") != [] for message in seen):
        request.payload["messages"] = seen


# Violates image_url: the image belongs to its message, whatever precedes it.
images_lost_next_to_instructions = when(
    "images-lost-next-to-instructions",
    "Images next to text do not reach the model if there is a system message.",
    _has_instructions,
    _drop_images,
    applies_to=takes("image"),
)
