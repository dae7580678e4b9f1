"""Loading of all media of a request, and the limit of its pixels."""

from __future__ import annotations

import io
from base64 import b64encode
from typing import Final

import pytest

from openapi.contract.contract import load
from openapi.description.media_forms import media_forms
from reference_server.engine.media import MediaNeeds
from reference_server.errors import ApiError
from reference_server.media.limits import MediaLimits
from reference_server.media.loader import MediaLoader
from reference_server.media.reference import MediaReference
from reference_server.settings import MediaSources

Image = pytest.importorskip("PIL.Image", reason="decoding needs the extra `media`")
pytest.importorskip("av", reason="decoding needs the extra `media`")

SIDE: Final = 100


def messages(count: int) -> list[dict[str, object]]:
    file = io.BytesIO()
    Image.new("RGB", (SIDE, SIDE)).save(file, "PNG")
    location = "data:image/png;base64," + b64encode(file.getvalue()).decode()
    form = media_forms(load("mindie-2.3"))["image_url"]
    parts = [{"media": MediaReference(form, f"content[{at}]", location)} for at in range(count)]
    return [{"role": "user", "content": parts}]


def load_all(count: int, side: int | None) -> int:
    """Return the number of loaded pixels."""
    needs = MediaNeeds(frozenset({"image"}), side=side, frames=4, rate_hz=8000)
    loader = MediaLoader(needs, MediaSources(None), MediaLimits(pixels=3 * SIDE**2))
    try:
        loaded = loader.load_all(messages(count))
    finally:
        loader.close()
    return sum(part["media"].frames.size // 3 for part in loaded[0]["content"])


def test_pictures_of_their_own_size_have_a_limit_of_pixels_together() -> None:
    assert load_all(3, None) == 3 * SIDE**2
    with pytest.raises(ApiError, match=r"content\[3\]: the media up to here have 40000 pixels: at most 30000 are"):
        load_all(4, None)


def test_reduced_pictures_are_far_below_it() -> None:
    assert load_all(9, 16) == 9 * 16**2
