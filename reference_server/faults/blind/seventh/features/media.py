"""Blind faults of images, clips and sounds in messages: which of them the model gets, and what it gets of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from reference_server.engine.media import Media
from reference_server.faults.blind.recipes import fail, refusing
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import (
    change_media,
    change_parts,
    media_fault,
    media_parts,
    picture_in,
    takes,
    with_frames,
    with_samples,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

SMALLEST_SIDE: Final = 28  # pixels
KEPT: Final = 0.5
CROP_FROM: Final = 6
CROP_TO: Final = 58
CROPPED_SIDE: Final = 64


def _is_image(part: Json) -> bool:
    media = part.get("media")
    return isinstance(media, Media) and media.kind == "image"


def _repeat_first_image(messages: list[Json]) -> list[Json]:
    """Reuse the first image. Violates messages: each message has its own content."""
    first: list[Json] = []

    def change(parts: list[Json]) -> list[Json]:
        if not first:
            first.extend([part for part in parts if _is_image(part)][:1])
            return parts
        return [first[0] if _is_image(part) else part for part in parts]

    return change_parts(messages, change)


def _forget_earlier_images(messages: list[Json]) -> list[Json]:
    """Drop images of earlier turns. Violates messages: the conversation so far."""
    earlier = change_parts(messages[:-1], lambda parts: [part for part in parts if not _is_image(part)])
    return [*earlier, *messages[-1:]]


def _move_images_to_the_front(parts: list[Json]) -> list[Json]:
    """Sort parts by kind. Violates messages.content: the parts are in order."""
    return sorted(parts, key=lambda part: not isinstance(part.get("media"), Media))


def _crop(media: Media) -> Media:
    """Cut the edges off. Violates what an image shows."""
    frames = media.frames
    if media.kind != "image" or frames.shape[1:3] != (CROPPED_SIDE, CROPPED_SIDE):
        return media
    inner = frames[:, CROP_FROM:CROP_TO, CROP_FROM:CROP_TO]
    at = (np.arange(CROPPED_SIDE) * inner.shape[1]) // CROPPED_SIDE
    return with_frames(media, np.ascontiguousarray(inner[:, at][:, :, at]))


def _reverse_frames(media: Media) -> Media:
    return with_frames(media, np.ascontiguousarray(media.frames[::-1])) if media.kind == "video" else media


def _cut_sound(media: Media) -> Media:
    return with_samples(media, media.samples[: int(len(media.samples) * KEPT)]) if media.kind == "audio" else media


def _make_colliding_cache() -> Callable[[list[Json]], list[Json]]:
    """Keep media by four bits of their hash, so that another medium may be used in place of the one in the request."""
    kept: dict[tuple[str, int], Media] = {}

    def look_up(media: Media) -> Media:
        return kept.setdefault((media.kind, media.digest[-1] & 0x0F), media)

    return change_media(look_up)()


def _fail_for_small_images(request: ServedRequest) -> CannedResponse | None:
    """Fail for few pixels. No document has a least size of images."""
    pictures = [picture_in(location) for _, location in media_parts(request)]
    small = any(picture is not None and min(picture.size) < SMALLEST_SIDE for picture in pictures)
    return fail(request) if small else None


def _refuse_jpg(request: ServedRequest) -> CannedResponse | None:
    """Know one name of a format. Clients derive the media type from the extension, which the documents call jpg."""
    named = any(location[:16].lower().startswith("data:image/jpg;") for _, location in media_parts(request))
    return refusing("unsupported media type image/jpg")(request) if named else None


first_image_replaces_later_ones = media_fault(
    "first-image-replaces-later-ones",
    "In the messages after the first one with images, each image is the first one.",
    lambda: _repeat_first_image,
)
images_of_earlier_turns_forgotten = media_fault(
    "images-of-earlier-turns-forgotten",
    "Images in other messages than the last one do not reach the model.",
    lambda: _forget_earlier_images,
)
images_move_to_the_front = media_fault(
    "images-move-to-the-front",
    "The images of a message precede all of its texts.",
    lambda: lambda messages: change_parts(messages, _move_images_to_the_front),
)
image_edges_cut = media_fault("image-edges-cut", "The model gets the middle of images only.", change_media(_crop))
videos_run_backwards = media_fault(
    "videos-run-backwards", "Videos run backwards.", change_media(_reverse_frames), kind="video"
)
sounds_cut_in_the_middle = media_fault(
    "sounds-cut-in-the-middle", "The second half of a sound is lost.", change_media(_cut_sound), kind="audio"
)
images_share_short_hashes = media_fault(
    "images-share-short-hashes",
    "Images are cached by four bits of a hash, so that a few different ones are confused.",
    _make_colliding_cache,
)
small_images_fail = hooked_fault(
    "small-images-fail",
    "The engine fails for images inside the request with a side of less than 28 pixels.",
    request=_fail_for_small_images,
    applies_to=takes("image"),
)
jpg_media_types_refused = hooked_fault(
    "jpg-media-types-refused",
    "Data URLs with the media type image/jpg are refused, and only image/jpeg is understood.",
    request=_refuse_jpg,
    applies_to=takes("image"),
)
