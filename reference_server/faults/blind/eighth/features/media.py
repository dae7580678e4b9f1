"""Blind faults of images, clips and sounds in messages: what the model gets of them, and answers about others."""

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


def _cut_clip(media: Media) -> Media:
    """Take the first frames. Violates what a video shows."""
    if media.kind != "video" or len(media.frames) < 2:
        return media
    half = media.frames[: len(media.frames) // 2]
    return with_frames(media, np.ascontiguousarray(np.repeat(half, 2, axis=0)[: len(media.frames)]))


later_images_of_a_message_lost = media_fault(
    "later-images-of-a-message-lost",
    "Only the first image of each message reaches the model.",
    lambda: lambda messages: change_parts(messages, _keep_first_image),
)
videos_lose_their_second_half = media_fault(
    "videos-lose-their-second-half", "The second half of a video is lost.", change_media(_cut_clip), kind="video"
)
cached_whatever_the_image = cached_whatever_media(
    "cached-whatever-the-image",
    "Greedy plain answers are cached, and the key of the cache lacks the images.",
    "image",
)
