"""Blind faults of images, clips and sounds in messages: their order, their pixels, and their share of the usage."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import numpy as np

from reference_server.engine.media import Media
from reference_server.faults.blind.recipes import fail
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import (
    change_media,
    change_parts,
    counts_media,
    media_fault,
    media_parts,
    picture_in,
    replace_file,
    takes,
    with_frames,
    with_samples,
)

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

REVERSED_FROM: Final = 3  # images in a message
SLOWER: Final = 3
PICTURE_TOKENS: Final = 16
RAW_MODES: Final = ("RGBA", "LA")


def _is_media(part: Json, kind: str = "image") -> bool:
    media = part.get("media")
    return isinstance(media, Media) and media.kind == kind


def _reverse_images(parts: list[Json]) -> list[Json]:
    """Reverse many images. Violates messages.content: the parts are in order."""
    images = [part for part in parts if _is_media(part)]
    if len(images) < REVERSED_FROM:
        return parts
    return [images.pop() if _is_media(part) else part for part in parts]


def _keep_last_image(parts: list[Json]) -> list[Json]:
    """Overwrite earlier images. Violates messages.content: each image is part of the content."""
    last = next((part for part in reversed(parts) if _is_media(part)), None)
    return [last if last is not None and _is_media(part) else part for part in parts]


def _swap_channels(media: Media) -> Media:
    return with_frames(media, np.ascontiguousarray(media.frames[..., ::-1])) if media.kind == "image" else media


def _repeat_first_frame(media: Media) -> Media:
    if media.kind != "video" or not len(media.frames):
        return media
    return with_frames(media, np.repeat(media.frames[:1], len(media.frames), axis=0))


def _slow_down(media: Media) -> Media:
    return with_samples(media, np.repeat(media.samples, SLOWER)) if media.kind == "audio" else media


def _show_transparent_pixels(request: ServedRequest) -> None:
    """Drop opacity. Violates what an image shows: a pixel without opacity has no colour of its own."""
    for part, location in list(media_parts(request)):
        picture = picture_in(location)
        if picture is not None and picture.mode in RAW_MODES:
            written = io.BytesIO()
            picture.convert("RGB").save(written, "PNG")
            replace_file(request, part, written.getvalue(), "image/png")


def _fail_for_grey_images(request: ServedRequest) -> CannedResponse | None:
    """Fail for one channel. Violates the formats of images, of which grey ones are a kind."""
    pictures = [picture_in(location) for _, location in media_parts(request)]
    return fail(request) if any(picture is not None and picture.mode == "L" for picture in pictures) else None


def _count_text_only(chunk: Json, request: ServedRequest) -> None:
    """Leave out media. Violates usage.prompt_tokens, which is the same whether an answer is streamed."""
    usage, media = chunk.get("usage"), counts_media(request)
    if isinstance(usage, dict) and media and usage.get("prompt_tokens"):
        fewer = min(usage["prompt_tokens"] - 1, media * PICTURE_TOKENS)
        usage["prompt_tokens"] -= fewer
        usage["total_tokens"] -= fewer


three_images_reversed = media_fault(
    "three-images-reversed",
    "Three and more images of a message reach the model in reverse order.",
    lambda: lambda messages: change_parts(messages, _reverse_images),
)
last_image_replaces_the_others = media_fault(
    "last-image-replaces-the-others",
    "All images of a message are the last one.",
    lambda: lambda messages: change_parts(messages, _keep_last_image),
)
red_and_blue_swapped = media_fault(
    "red-and-blue-swapped", "The channels for red and blue of images are swapped.", change_media(_swap_channels)
)
videos_show_their_first_frame = media_fault(
    "videos-show-their-first-frame",
    "A video shows its first frame all the time.",
    change_media(_repeat_first_frame),
    kind="video",
)
sounds_played_slowly = media_fault(
    "sounds-played-slowly", "Sounds are three times as long and as low.", change_media(_slow_down), kind="audio"
)
transparent_pixels_shown = hooked_fault(
    "transparent-pixels-shown",
    "Transparent pixels of images inside the request have the colours that are stored for them.",
    request=_show_transparent_pixels,
    applies_to=takes("image"),
)
grey_images_fail = hooked_fault(
    "grey-images-fail",
    "The engine fails for images inside the request that have one channel.",
    request=_fail_for_grey_images,
    applies_to=takes("image"),
)
media_uncounted_in_streams = hooked_fault(
    "media-uncounted-in-streams",
    "The usage of a stream does not count the positions of images and sounds.",
    chunk=_count_text_only,
    applies_to=takes("image"),
)
