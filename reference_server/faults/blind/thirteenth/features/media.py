"""Blind faults of images: messages that say nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

IMAGE = "image_url"


def _has_images_only(sent: Json) -> bool:
    contents = [message.get("content") for message in messages_of(sent)]
    lists = [content for content in contents if isinstance(content, list)]
    kinds = [[part.get("type") for part in parts if isinstance(part, dict)] for parts in lists]
    return any(own and set(own) == {IMAGE} for own in kinds)


# Violates messages.content: parts of any kind.
images_without_text_refused = when(
    "images-without-text-refused",
    "A message that consists of images is refused.",
    _has_images_only,
    refusing("messages.content: a text part is required"),
    applies_to=takes("image"),
)
