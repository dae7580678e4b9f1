"""Blind faults of images: data URLs with parameters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

PARAMETERS: Final = re.compile(r"data:[^,;]+;[^,;=]+=[^,;]*;base64,")


def _has_parameters(sent: Json) -> bool:
    images = [part.get("image_url") for part in parts_of(sent)]
    urls = [image.get("url") if isinstance(image, dict) else image for image in images]
    return any(isinstance(url, str) and PARAMETERS.match(url) for url in urls)


# Violates image_url: a data URL may have parameters.
parameters_of_data_urls_refused = when(
    "parameters-of-data-urls-refused",
    "An image is refused if its data URL has a parameter between the media type and the data.",
    _has_parameters,
    refusing("image_url: only base64 data URLs are supported"),
    applies_to=takes("image"),
)
