"""Blind faults of images in messages: what the model gets of them, and answers about others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reference_server.engine.media import Media
from reference_server.faults.blind.answer_cache import cached_whatever_media
from reference_server.faults.topics.media.decoded_edits import (
    change_media,
    change_parts,
    media_fault,
    with_frames,
)

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _keep_first_image(parts: list[Json]) -> list[Json]:
    """Take one image. Violates messages.content: all parts of the message."""
    images = [part for part in parts if isinstance(part.get("media"), Media) and part["media"].kind == "image"]
    return [part for part in parts if not any(part is image for image in images[1:])]


def _turn(media: Media) -> Media:
    """Apply an orientation that is not there. Violates what an image shows."""
    return with_frames(media, np.ascontiguousarray(media.frames[:, ::-1, ::-1])) if media.kind == "image" else media


later_images_of_a_message_lost = media_fault(
    "later-images-of-a-message-lost",
    "Only the first image of each message reaches the model.",
    lambda: lambda messages: change_parts(messages, _keep_first_image),
)
images_upside_down = media_fault("images-upside-down", "Images are upside down.", change_media(_turn))
cached_whatever_the_image = cached_whatever_media(
    "cached-whatever-the-image",
    "Greedy plain answers are cached, and the key of the cache lacks the images.",
    "image",
)
