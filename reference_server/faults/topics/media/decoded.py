"""Faults of decoded media: pictures, channels and sounds are lost or exchanged on the way to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from reference_server.engine.media import Media
from reference_server.faults.topics.media.decoded_edits import (
    change_media,
    change_parts,
    media_fault,
    with_frames,
    with_samples,
)

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

FEWEST: Final = 3
"""Images of a message from which a fault of many images shows."""


def _is_image(part: Json) -> bool:
    return isinstance(part.get("media"), Media) and part["media"].kind == "image"


def _rotate(parts: list[Json]) -> list[Json]:
    """Put the last of many images before the others."""
    images = [part for part in parts if _is_image(part)]
    if len(images) < FEWEST:
        return parts
    others = iter([images[-1], *images[:-1]])
    return [next(others) if _is_image(part) else part for part in parts]


def _repeat_second(parts: list[Json]) -> list[Json]:
    """Show the second of many images in place of the first."""
    images = [at for at, part in enumerate(parts) if _is_image(part)]
    if len(images) < FEWEST:
        return parts
    changed = list(parts)
    changed[images[0]] = parts[images[1]]
    return changed


def _first_channel_last(media: Media) -> Media:
    return with_frames(media, np.ascontiguousarray(media.frames[..., ::-1])) if media.kind == "image" else media


def _first_half(media: Media) -> Media:
    """Show the first half of a video twice."""
    half = len(media.frames) // 2
    if media.kind != "video" or not half:
        return media
    return with_frames(media, np.concatenate([media.frames[:half]] * 2))


def _reverse(media: Media) -> Media:
    return with_frames(media, np.ascontiguousarray(media.frames[::-1])) if media.kind == "video" else media


def _without_end(media: Media) -> Media:
    """Cut the last quarter of a sound off."""
    return with_samples(media, media.samples[: len(media.samples) * 3 // 4]) if media.kind == "audio" else media


images_rotated = media_fault(
    "media-images-rotated",
    "The last of three and more images reaches the model before the others.",
    lambda: lambda messages: change_parts(messages, _rotate),
)
first_image_replaced = media_fault(
    "media-first-image-replaced",
    "The second of three and more images stands in place of the first.",
    lambda: lambda messages: change_parts(messages, _repeat_second),
)
channels_reversed = media_fault(
    "media-channels-reversed", "Images are read as BGR in place of RGB.", change_media(_first_channel_last)
)
videos_reversed = media_fault(
    "media-videos-reversed", "The pictures of a video are in reverse order.", change_media(_reverse), kind="video"
)
videos_halved = media_fault(
    "media-videos-halved",
    "The second half of a video does not reach the model.",
    change_media(_first_half),
    kind="video",
)
sounds_cut = media_fault(
    "media-sounds-cut", "The end of an audio file does not reach the model.", change_media(_without_end), kind="audio"
)


def _turn(media: Media) -> Media:
    return with_frames(media, np.ascontiguousarray(media.frames[:, ::-1, ::-1])) if media.kind == "image" else media


images_turned = media_fault("media-images-turned", "Images are turned by half a circle.", change_media(_turn))


def _repeat_first_turn(messages: list[Json]) -> list[Json]:
    """Show the image of the first turn in each later one."""
    first = [
        part
        for message in messages
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if _is_image(part)
    ][:1]
    turns = [at for at, message in enumerate(messages) if message.get("role") == "user"]

    def change(at: int, message: Json) -> Json:
        if at not in turns[1:] or not first or not isinstance(message.get("content"), list):
            return message
        return {**message, "content": [first[0] if _is_image(part) else part for part in message["content"]]}

    return [change(at, message) for at, message in enumerate(messages)]


later_images_replaced = media_fault(
    "media-later-images-replaced",
    "An image of a later turn is the one of the first turn.",
    lambda: _repeat_first_turn,
)
