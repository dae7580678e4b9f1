"""Blind faults of messages: parts that are cut by another unit, and tall images."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import media_parts, picture_in, replace_file, takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

IN_PARTS: Final = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]


def _cut_by_characters(request: ServedRequest) -> None:
    """Copy as many bytes as there are characters. Violates text: the whole text of the part."""
    for part in parts_of(request.payload):
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            part["text"] = part["text"].encode(errors="replace")[: len(part["text"])].decode(errors="ignore")


def _crop_tall_images(request: ServedRequest) -> None:
    """Keep the square in the middle. Violates image_url: the whole image."""
    for part, location in list(media_parts(request)):
        picture = picture_in(location)
        if picture is None or picture.height < 2 * picture.width:
            continue
        top, file = (picture.height - picture.width) // 2, io.BytesIO()
        try:
            picture.crop((0, top, picture.width, top + picture.width)).convert("RGBA").save(file, format="PNG")
        except OSError:  # a broken file, which the server refuses
            continue
        replace_file(request, part, file.getvalue(), "image/png")


parts_cut_by_characters = hooked_fault(
    "parts-cut-by-characters",
    "A text part is cut after as many bytes as it has characters, so that text beyond ASCII loses its end.",
    request=_cut_by_characters,
    applies_to=allows(messages=IN_PARTS),
)
tall_images_cropped = hooked_fault(
    "tall-images-cropped",
    "Of an image that is at least twice as high as wide, the model sees the square in the middle.",
    request=_crop_tall_images,
    applies_to=takes("image"),
)
