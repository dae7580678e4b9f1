"""Decoded media, and what a model takes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

MediaKind = Literal["image", "video", "audio"]
MEDIA_KINDS: Final[tuple[MediaKind, ...]] = ("image", "video", "audio")


@dataclass(frozen=True, slots=True)
class MediaNeeds:
    """What a model takes of media; media are reduced to it when they are decoded.

    kinds: the kinds of media that it takes.
    side: width and height of a picture in pixels; None: its own size.
    frames: number of pictures that show a video; for pictures of their own size, the greatest.
    rate_hz: samples per second of audio.
    """

    kinds: frozenset[MediaKind]
    side: int | None
    frames: int
    rate_hz: int


@dataclass(frozen=True, slots=True, eq=False)
class Media:
    """One image, video or audio file after decoding.

    frames: pictures, uint8 [pictures, height, width, 3]; empty for audio.
    samples: audio, float32 [samples] from -1 to 1, at rate_hz; empty otherwise.
    digest: hash of the file and of the kind.
    frames_per_s: pictures of a video in a second of its time.
    """

    kind: MediaKind
    frames: NDArray[np.uint8]
    samples: NDArray[np.float32]
    rate_hz: int
    digest: bytes
    frames_per_s: float = 1.0


def split_media(messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Media]]:
    """Return the messages with the kind of each media part alone, for a chat template, and the media in their order."""
    found: list[Media] = []

    def parts(content: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for part in content:
            if isinstance(part, dict) and isinstance(media := part.get("media"), Media):
                found.append(media)
                yield {"type": media.kind}
            else:
                yield part

    bare = [
        {**message, "content": list(parts(message["content"]))} if isinstance(message.get("content"), list) else message
        for message in messages
    ]
    return bare, found
