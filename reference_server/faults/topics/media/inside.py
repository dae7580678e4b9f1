"""Faults with files inside requests: they are dropped, confused, refused, or the wrong ones are accepted."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.hooks import CannedResponse, Refusal
from reference_server.faults.topics.media.decoded_edits import media_parts, picture_in, replace_file
from reference_server.faults.topics.media.parts import (
    IMAGES,
    KINDS,
    count_parts,
    edit_parts,
    is_part,
    media_fault,
    takes,
    takes_media,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest


def _without(types: tuple[str, ...]) -> Callable[[ServedRequest], None]:
    def drop(request: ServedRequest) -> None:
        edit_parts(request, lambda _, parts: [part for part in parts if not is_part(part, types)])

    return drop


images_dropped = media_fault("media-images-dropped", "Images are dropped silently.", request=_without(IMAGES))
videos_dropped = media_fault(
    "media-videos-dropped",
    "Videos are dropped silently.",
    request=_without(KINDS["video"]),
    applies_to=takes("video-counted"),
)


def _drop_beside_images(request: ServedRequest) -> None:
    def drop(_: int, parts: list[Json]) -> list[Json]:
        has_image = any(is_part(part, IMAGES) for part in parts)
        return [part for part in parts if not (has_image and is_part(part, KINDS["video"]))]

    edit_parts(request, drop)


videos_dropped_beside_images = media_fault(
    "media-videos-dropped-beside-images",
    "A video is dropped if an image stands in front of it.",
    request=_drop_beside_images,
    applies_to=takes("video-counted"),
)
audio_dropped = media_fault(
    "media-audio-dropped",
    "Audio is dropped silently.",
    request=_without(KINDS["audio"]),
    applies_to=takes("audio-counted"),
)


def _drop_in_streams(request: ServedRequest) -> None:
    if request.payload.get("stream") is True:
        _without(IMAGES)(request)


dropped_in_streams = media_fault(
    "media-dropped-in-streams", "Images are dropped if the answer is streamed.", request=_drop_in_streams
)


def _drop_beside_choices(request: ServedRequest) -> None:
    if request.payload.get("n") not in (None, 1):
        _without(IMAGES)(request)


dropped_beside_choices = media_fault(
    "media-dropped-beside-choices",
    "Images are dropped if there are several choices.",
    request=_drop_beside_choices,
    applies_to=lambda contract: takes_media(contract) and "n" in contract.parameters,
)


def _only_the_first_five(request: ServedRequest) -> None:
    def cut(_: int, parts: list[Json]) -> list[Json]:
        lost = [part for part in parts if is_part(part, IMAGES)][5:]
        return [part for part in parts if not any(part is other for other in lost)]

    edit_parts(request, cut)


sixth_dropped = media_fault(
    "media-after-the-fifth-dropped", "Images after the fifth are dropped.", request=_only_the_first_five
)


def _only_the_last_turn(request: ServedRequest) -> None:
    edit_parts(request, lambda at, parts: [part for part in parts if at == 0 or not is_part(part, IMAGES)])


earlier_dropped = media_fault(
    "media-of-earlier-turns-dropped", "Images of earlier turns are dropped.", request=_only_the_last_turn
)


def _only_the_first(request: ServedRequest) -> None:
    def keep(_: int, parts: list[Any]) -> list[Any]:
        images = [part for part in parts if is_part(part, IMAGES)]
        return [part for part in parts if part not in images[1:] or part is images[0]]

    edit_parts(request, keep)


later_dropped = media_fault(
    "media-only-the-first", "Only the first image of a message is kept.", request=_only_the_first
)


def _sort(request: ServedRequest) -> None:
    def sort(_: int, parts: list[Any]) -> list[Any]:
        images = sorted((part for part in parts if is_part(part, IMAGES)), key=repr)
        return [*images, *(part for part in parts if not is_part(part, IMAGES))]

    edit_parts(request, sort)


images_sorted = media_fault(
    "media-images-sorted", "Several images are sorted by their content, as a set or a cache does.", request=_sort
)


def _first_seen(request: ServedRequest) -> None:
    """Send the first image that the server has seen instead of any other."""

    def replace(_: int, parts: list[Any]) -> list[Any]:
        return [SEEN.setdefault(request.contract.name, part) if is_part(part, IMAGES) else part for part in parts]

    edit_parts(request, replace)


SEEN: Final[dict[str, Any]] = {}
"""By dialect, the first image of the process: the state of a cache whose key does not include the image."""

cache_confuses_images = media_fault(
    "media-images-confused", "A cache whose key ignores images answers with the first image.", request=_first_seen
)


def _break(request: ServedRequest) -> CannedResponse | None:
    if count_parts(request, IMAGES):
        return CannedResponse(500, b'{"error":"cannot identify image file"}')
    return None


images_break_the_server = media_fault("media-images-fail", "A request with an image gets a 500.", request=_break)


def _fail_at_animations(request: ServedRequest) -> CannedResponse | None:
    if count_parts(request, IMAGES) and b"base64,R0lG" in request.body:
        return CannedResponse(500, b'{"error":"operands could not be broadcast together"}')
    return None


animations_break_the_server = media_fault(
    "media-animations-fail",
    "An animated image gets a 500: its frames have one dimension more.",
    request=_fail_at_animations,
)


def _refuse_base64(request: ServedRequest) -> None:
    if count_parts(request, IMAGES) and b"base64," in request.body:
        raise Refusal("invalid_request", "image_url: expected an http URL")


base64_refused = media_fault(
    "media-base64-refused", "Images as base64 are refused; only URLs are accepted.", request=_refuse_base64
)


def _refuse_ten(request: ServedRequest) -> None:
    if count_parts(request, IMAGES) > 10:
        raise Refusal("invalid_request", "at most 10 images are allowed")


ten_at_most = media_fault("media-ten-at-most", "More than ten images are refused.", request=_refuse_ten)


def _cut(request: ServedRequest) -> None:
    def keep(_: int, parts: list[Any]) -> list[Any]:
        images = [at for at, part in enumerate(parts) if is_part(part, IMAGES)]
        return [part for at, part in enumerate(parts) if at not in images[20:]]

    edit_parts(request, keep)


more_are_cut = media_fault(
    "media-more-are-cut", "Images beyond the limit are dropped silently, and the request is answered.", request=_cut
)


def _ignore_broken(request: ServedRequest) -> None:
    def is_broken(part: Any) -> bool:
        return is_part(part, IMAGES) and len(repr(part)) < SHORTEST_IMAGE

    edit_parts(request, lambda _, parts: [part for part in parts if not is_broken(part)])


SHORTEST_IMAGE: Final = 450
"""Characters of the part of a whole image that the suite sends."""

broken_ignored = media_fault(
    "media-broken-ignored",
    "Images that cannot be decoded are ignored, and the request is answered.",
    request=_ignore_broken,
)


def _uncount(response: Json, request: ServedRequest) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict) and any(count_parts(request, types) for types in KINDS.values()):
        usage["prompt_tokens"] = 4
        usage["total_tokens"] = 4 + usage["completion_tokens"]


media_uncounted = media_fault(
    "media-uncounted", "The tokens of media are not counted.", answer=_uncount, chunk=_uncount
)


def _note(answer: Json, request: ServedRequest) -> None:
    if count_parts(request, IMAGES):
        for choice in answer["choices"]:
            choice["message"]["content"] = f"{choice['message']['content']} I see it."


plain_answers_extended = media_fault(
    "media-plain-differs", "Plain answers about images have another text than streamed ones.", answer=_note
)


def _drop_animations(request: ServedRequest) -> None:
    """Skip GIF files, of which some decoders know none."""
    lost = [part for part, location in media_parts(request) if location.startswith("data:image/gif")]
    edit_parts(request, lambda _, parts: [part for part in parts if part not in lost])


animations_dropped = media_fault(
    "media-gifs-dropped",
    "Images of the type GIF are dropped silently.",
    request=_drop_animations,
    applies_to=takes("other-formats-counted"),
)


def _show_hidden(request: ServedRequest) -> None:
    """Forget the transparency of images as many decoders do that convert them to RGB."""
    for part, location in list(media_parts(request)):
        picture = picture_in(location)
        if picture is not None and picture.mode == "RGBA":
            opaque = io.BytesIO()
            picture.convert("RGB").save(opaque, "PNG")
            replace_file(request, part, opaque.getvalue(), "image/png")


hidden_shown = media_fault(
    "media-hidden-shown", "Transparent pixels show the colours that are stored for them.", request=_show_hidden
)
