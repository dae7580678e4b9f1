"""Draw the images of requests before a test: smooth noise, as JPG, which every document accepts. Needs Pillow.

A server that keeps what it has computed of an image recognises one that comes again. So a test draws as many different
ones as its scenario asks for.
"""

from __future__ import annotations

import importlib.util
import io
import random
from typing import TYPE_CHECKING, Any, Final

from loadtests.errors import UsageError
from openapi.description.media_forms import media_forms, most_media

if TYPE_CHECKING:
    from loadtests.shape.lengths import LengthDistribution
    from openapi.contract.contract import Contract

KILOBYTE: Final = 1000
GRAIN: Final = 16
"""Pixels from one random colour to the next: an image of 512 by 512 pixels has about 15 kB."""
SIDES: Final = (16, 8192)
"""The smallest and the greatest side of an image in pixels."""
COMMENT: Final = b"\xff\xfe"
COMMENT_BYTES: Final = 65_535
"""The longest comment of a JPG, with its two bytes of length."""


def draw_image(rng: random.Random, side: int, kilobytes: int) -> bytes:
    """Return a JPG of `side` by `side` pixels, with comments up to a size in kB if it is smaller."""
    from PIL import Image

    cells = max(2, side // GRAIN)
    noise = Image.frombytes("RGB", (cells, cells), rng.randbytes(3 * cells * cells))
    file = io.BytesIO()
    noise.resize((side, side), Image.Resampling.BICUBIC).save(file, "JPEG", quality=85)
    return _pad(file.getvalue(), kilobytes * KILOBYTE)


def draw_image_parts(
    contract: Contract, seed: int, number: int, side: LengthDistribution, kilobytes: LengthDistribution
) -> list[dict[str, Any]]:
    """Return parts of different images in the form of a dialect.

    side: pixels. kilobytes: the least size of a file. Raise UsageError if the dialect has no images inside requests,
    or Pillow is not installed.
    """
    form = next((form for form in media_forms(contract).values() if form.kind == "image" and form.embeds), None)
    if form is None:
        raise UsageError(f"the scenario has images, and the dialect {contract.name} has none inside requests")
    if importlib.util.find_spec("PIL") is None:
        raise UsageError("the scenario has images, which need Pillow: install chatproof with its extra [load]")
    rng = random.Random(f"{seed}/images")
    files = (draw_image(rng, min(max(side.draw(rng), SIDES[0]), SIDES[1]), kilobytes.draw(rng)) for _ in range(number))
    return [form.embed(file, "jpg", "image/jpeg") for file in files]


def check_number(contract: Contract, most: int) -> None:
    """Raise UsageError if requests may have more images than a dialect allows."""
    allowed = most_media(contract)
    if allowed is not None and most > allowed:
        raise UsageError(f"the scenario has up to {most} images in a request: {contract.name} allows {allowed}")


def _pad(image: bytes, size_bytes: int) -> bytes:
    """Insert comments behind the first marker of a JPG until it has a size; the last three bytes may be missing."""
    comments = []
    missing = size_bytes - len(image)
    while missing >= len(COMMENT) + 2:
        length = min(missing - len(COMMENT), COMMENT_BYTES)
        comments.append(COMMENT + length.to_bytes(2, "big") + bytes(length - 2))
        missing -= len(COMMENT) + length
    return image[:2] + b"".join(comments) + image[2:]
