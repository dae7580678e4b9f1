"""Blind faults of images: wide ones, and those with a palette."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import media_parts, picture_in, replace_file, takes

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import ServedRequest

WIDE: Final = 1.5
"""Least ratio of the sides of an image that is cut."""


def _crop(picture: Any) -> Any:
    """Return the middle of a wide or high picture, as a square."""
    width, height = picture.size
    side = min(width, height)
    if max(width, height) < WIDE * side:
        return None
    left, top = (width - side) // 2, (height - side) // 2
    return picture.crop((left, top, left + side, top + side))


def _read_indexes(picture: Any) -> Any:
    """Return the indexes of a picture with a palette, as grey."""
    from PIL import Image

    return Image.frombytes("L", picture.size, picture.tobytes()) if picture.mode == "P" else None


def _editing(change: Callable[[Any], Any]) -> Callable[[ServedRequest], None]:
    """Return a hook that changes pictures. Violates image_url: the image as it is."""

    def edit(request: ServedRequest) -> None:
        for part, location in list(media_parts(request)):
            picture, file = picture_in(location), io.BytesIO()
            try:
                changed = None if picture is None else change(picture)
                if changed is not None:
                    changed.save(file, "PNG")
            except (OSError, SyntaxError, ValueError):  # the server refuses a broken file
                continue
            if changed is not None:
                replace_file(request, part, file.getvalue(), "image/png")

    return edit


wide_images_lose_their_sides = hooked_fault(
    "wide-images-lose-their-sides",
    "Of an image whose one side is 1.5 times the other or longer, only the square in the middle reaches the model.",
    request=_editing(_crop),
    applies_to=takes("image"),
)
palettes_of_images_unread = hooked_fault(
    "palettes-of-images-unread",
    "The numbers of colours in an image with a palette reach the model as shades of grey.",
    request=_editing(_read_indexes),
    applies_to=takes("image"),
)
