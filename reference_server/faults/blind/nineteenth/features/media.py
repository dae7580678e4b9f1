"""Blind faults of images: those with a palette."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import media_parts, picture_in, replace_file, takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest


def _show_indices(request: ServedRequest) -> None:
    """Read the pixels as they are stored. Violates image_url: the colours of the image."""
    for part, location in list(media_parts(request)):
        picture = picture_in(location) if location.startswith("data:image/") else None
        if picture is not None and picture.mode == "P":
            from PIL import Image

            file = io.BytesIO()
            Image.frombytes("L", picture.size, picture.tobytes()).save(file, "PNG")
            replace_file(request, part, file.getvalue(), "image/png")


colours_of_palettes_lost = hooked_fault(
    "colours-of-palettes-lost",
    "Images with a palette are shown in the grey of its indices.",
    request=_show_indices,
    applies_to=takes("image"),
)
