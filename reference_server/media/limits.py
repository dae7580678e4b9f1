"""Limits of media, and the error of one that is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reference_server.settings import MEBIBYTE

FORMATS: Final = {
    "image": ("JPG", "JPEG", "PNG", "WEBP", "GIF"),
    "video": ("MP4", "AVI", "WMV"),
    "audio": ("MP3", "WAV", "FLAC"),
}
"""File formats by the kind of media, for contracts that list none."""


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """Limits of one medium.

    file_bytes: its file, if the contract states no limit.
    side, pixels: of a picture, as its header states them.
    duration_s: of a video or a sound.
    memory_bytes, cpu_s, decode_s: of the process that decodes, and the time that it gets.
    fetch_s: time for a URL with all its redirects.
    redirects: number of redirects.
    """

    file_bytes: int = 40 * MEBIBYTE
    side: int = 16_384
    pixels: int = 64_000_000
    duration_s: float = 600.0
    memory_bytes: int = 1024 * MEBIBYTE
    cpu_s: int = 10
    decode_s: float = 20.0
    fetch_s: float = 20.0
    redirects: int = 3


class MediaError(Exception):
    """A medium is refused; the message is the reason, with the limit if there is one."""
