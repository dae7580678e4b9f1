"""Blind faults of images: several in one request that begin alike."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import BASE64_MARK, media_parts, takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

KEY_LENGTH: Final = 44
"""How many characters of base64 are compared: those of a PNG's signature and header."""


def _confuse_alike(request: ServedRequest) -> None:
    """Look images up by the beginning of their data. Violates image_url: the image of each part."""
    first: dict[str, Json] = {}
    for part, location in list(media_parts(request)):
        head, mark, data = location.partition(BASE64_MARK)
        if mark and head.startswith("data:image/"):
            earlier = first.setdefault(data[:KEY_LENGTH], deepcopy(part))
            part.update(deepcopy(earlier))


images_that_begin_alike_confused = hooked_fault(
    "images-that-begin-alike-confused",
    "Of several images of the same format and size in a request, the model sees the first one in place of the others.",
    request=_confuse_alike,
    applies_to=takes("image"),
)
