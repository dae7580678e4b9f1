"""Blind faults of images and sounds in messages: what the model gets of them, and answers about others."""

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


def _drop_images_after_text(parts: list[Json]) -> list[Json]:
    """Stop at the text. Violates messages.content: all parts of the message."""
    first = next((at for at, part in enumerate(parts) if part.get("type") == "text"), len(parts))
    later = [part for part in parts[first:] if not isinstance(part.get("media"), Media)]
    return [*parts[:first], *later]


def _mirror(media: Media) -> Media:
    """Swap left and right. Violates what an image shows."""
    return with_frames(media, np.ascontiguousarray(media.frames[:, :, ::-1])) if media.kind == "image" else media


images_after_text_lost = media_fault(
    "images-after-text-lost",
    "Images that follow text in a message do not reach the model.",
    lambda: lambda messages: change_parts(messages, _drop_images_after_text),
)
images_mirrored = media_fault("images-mirrored", "Left and right of images are swapped.", change_media(_mirror))
cached_whatever_the_sound = cached_whatever_media(
    "cached-whatever-the-sound",
    "Greedy plain answers are cached, and the key of the cache lacks the sounds.",
    "audio",
)
