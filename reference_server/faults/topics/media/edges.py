"""Faults in which an edge of an image is cut off, an image is turned or stands in another place, or sounds have another
rate.
"""

from __future__ import annotations

import io
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final

import numpy as np

from openapi.description.media_forms import media_forms
from reference_server.engine.media import Media
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import (
    change_media,
    change_parts,
    media_fault,
    media_parts,
    picture_in,
    replace_file,
    takes,
    with_frames,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

CUT: Final = 12
"""The divisor of a side that gives the width of what is cut off."""
TURNS: Final = {"left": 0, "top": 1, "right": 2, "bottom": 3}
"""Quarter turns after which an edge is on the left."""
RATES: Final = slice(24, 32)
"""Where a WAV file states its samples and its bytes in a second."""
BLOCK_SIZE: Final = slice(32, 34)
"""Where it states the bytes of a sample of all channels."""
RATE_HZ: Final = 8000


def _without_edge(turns: int) -> Callable[[Media], Media]:
    """Repeat the pixels next to an edge up to it."""

    def cut(media: Media) -> Media:
        if media.kind != "image":
            return media
        frames = np.rot90(media.frames, turns, (1, 2)).copy()
        width = frames.shape[2] // CUT + 1
        frames[:, :, :width] = frames[:, :, width : width + 1]
        return with_frames(media, np.ascontiguousarray(np.rot90(frames, -turns, (1, 2))))

    return cut


def _edge_fault(edge: str) -> Fault:
    return media_fault(
        f"media-{edge}-edge-cut", f"The {edge} edge of images does not reach the model.", _cut_edge(edge)
    )


def _cut_edge(edge: str) -> Callable[[], Callable[[list[Json]], list[Json]]]:
    return change_media(_without_edge(TURNS[edge]))


def _turn_wide(request: ServedRequest) -> None:
    """Turn each image that is wider than tall to the right."""
    for part, location in list(media_parts(request)):
        picture = picture_in(location)
        if picture is not None and picture.width > picture.height:
            written = io.BytesIO()
            picture.rotate(-90, expand=True).save(written, "PNG")
            replace_file(request, part, written.getvalue(), "image/png")


def _put_images_last(parts: list[Json]) -> list[Json]:
    return sorted(parts, key=lambda part: isinstance(part.get("media"), Media))


def _read_at_one_rate(request: ServedRequest) -> None:
    """Write the usual rate into the headers of WAV files."""
    for part, location in list(media_parts(request)):
        form = media_forms(request.contract)[part["type"]]
        head, comma, data = location.rpartition(",")
        file = b64decode(data) if form.kind == "audio" and location[:4] not in ("http", "file") else b""
        if not file.startswith(b"RIFF"):
            continue
        frame_bytes = int.from_bytes(file[BLOCK_SIZE], "little")
        rates = b"".join(rate.to_bytes(4, "little") for rate in (RATE_HZ, RATE_HZ * frame_bytes))
        holder: Json = part
        for name in form.path[:-1]:
            holder = holder[name]
        holder[form.path[-1]] = head + comma + b64encode(file[: RATES.start] + rates + file[RATES.stop :]).decode()


left_edge_cut = _edge_fault("left")
right_edge_cut = _edge_fault("right")
top_edge_cut = _edge_fault("top")
bottom_edge_cut = _edge_fault("bottom")
wide_images_turned = hooked_fault(
    "media-wide-images-turned",
    "An image that is wider than tall reaches the model turned by a quarter.",
    request=_turn_wide,
    applies_to=takes("image"),
)
images_last = media_fault(
    "media-images-behind-texts",
    "The images of a message reach the model behind its texts.",
    lambda: lambda messages: change_parts(messages, _put_images_last),
)
one_rate = hooked_fault(
    "media-rates-of-sounds-ignored",
    "WAV files are played with 8,000 samples in a second, whatever they state.",
    request=_read_at_one_rate,
    applies_to=takes("audio"),
)
