"""Variations of servers that take images, videos and audio: what they count, reorder and refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import variation
from reference_server.faults.hooks import Refusal
from reference_server.faults.topics.media.parts import (
    IMAGES,
    KINDS,
    MEDIA,
    count_parts,
    edit_parts,
    is_part,
    takes,
    takes_media,
)
from reference_server.faults.topics.media.urls import URLS, fetches

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

TOKENS_PER_IMAGE = 576
ANIMATED_GIF = b"base64,R0lG"
PNG_AS_JPG = b"image/jpeg;base64,iVBOR"


def media_variation(name: str, line: str, **options: Any) -> Fault:
    """Make a variation of servers that take media."""
    return variation(name, line, **{"applies_to": takes_media, "declares": MEDIA, **options})


def _count_fixed(response: Json, request: ServedRequest) -> None:
    usage, images = response.get("usage"), count_parts(request, IMAGES)
    if isinstance(usage, dict) and images:
        usage["prompt_tokens"] += TOKENS_PER_IMAGE * images
        usage["total_tokens"] += TOKENS_PER_IMAGE * images


images_of_one_size = media_variation(
    "media-images-of-one-size",
    "Every image counts the same number of tokens, many more than its text.",
    answer=_count_fixed,
    chunk=_count_fixed,
)


def _images_first(request: ServedRequest) -> None:
    edit_parts(request, lambda _, parts: sorted(parts, key=lambda part: not is_part(part, IMAGES)))


images_in_front = media_variation(
    "media-images-in-front", "The template shows all images of a message before its text.", request=_images_first
)


def _refusing(wanted: bytes, message: str) -> Callable[[ServedRequest], None]:
    def refuse(request: ServedRequest) -> None:
        if count_parts(request, IMAGES) and wanted in request.body:
            raise Refusal("invalid_request", message)

    return refuse


animations_refused = media_variation(
    "media-animations-refused",
    "GIF is refused: no document demands it.",
    request=_refusing(ANIMATED_GIF, "image_url: GIF is not supported"),
)
renamed_refused = media_variation(
    "media-renamed-refused",
    "An image is refused if it has another format than its data URL says.",
    request=_refusing(PNG_AS_JPG, "image_url: the file is not a JPG"),
)
redirects_refused = media_variation(
    "media-redirects-refused",
    "URLs that redirect are refused, as a precaution.",
    request=_refusing(b"/redirect/", "image_url: redirects are not followed"),
    applies_to=fetches,
    declares=URLS,
)


def _without_kind(kind: str) -> Callable[[ServedRequest], None]:
    def refuse(request: ServedRequest) -> None:
        if count_parts(request, KINDS[kind]):
            raise Refusal("invalid_request", f"the model does not take {kind} content")

    return refuse


no_videos = media_variation(
    "media-no-videos",
    "The model takes images, and requests with videos are refused.",
    request=_without_kind("video"),
    applies_to=takes("video-counted"),
    declares=URLS,
)
no_audio = media_variation(
    "media-no-audio",
    "The model takes images, and requests with audio are refused.",
    request=_without_kind("audio"),
    applies_to=takes("audio-counted"),
    declares=URLS,
)
