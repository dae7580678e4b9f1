"""Small files for requests with media, written without libraries: pictures, sounds and clips."""

from __future__ import annotations

import math
import struct
import zlib
from base64 import b64encode
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Colour = tuple[int, ...]

RED, GREEN, BLUE, WHITE, GREY = (220, 30, 30), (30, 160, 50), (40, 60, 220), (255, 255, 255), (128, 128, 128)
SIDE = 64
RATE_HZ = 8_000


def png(pixel: Callable[[int, int], Colour], side: int = SIDE, height: int | None = None) -> bytes:
    """Return a PNG, square unless it has another height.

    pixel: the colour at a row and a column: one value for grey, three, or four with opacity.
    """
    channels, height = len(pixel(0, 0)), side if height is None else height
    rows = b"".join(
        b"\0" + bytes(value for column in range(side) for value in pixel(row, column)) for row in range(height)
    )
    header = struct.pack(">IIBBBBB", side, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def plain(colour: Colour, side: int = SIDE) -> bytes:
    """Return a PNG of one colour."""
    return png(lambda _row, _column: colour, side)


def halves(top: Colour, bottom: Colour) -> bytes:
    """Return a PNG of two halves, one above the other."""
    return png(lambda row, _column: top if row < SIDE // 2 else bottom)


def sides(left: Colour, right: Colour) -> bytes:
    """Return a PNG of two halves next to each other."""
    return png(lambda _row, column: left if column < SIDE // 2 else right)


def image(file: bytes, media_type: str = "image/png") -> dict[str, Any]:
    """Return a part with an image in the form of the dialects of MindIE."""
    return {"type": "image_url", "image_url": f"data:{media_type};base64,{b64encode(file).decode()}"}


def wav(frequencies_hz: Sequence[float], seconds: float = 1.0) -> bytes:
    """Return a WAV of tones, one after another."""
    each_samples = int(RATE_HZ * seconds / len(frequencies_hz))
    samples = [
        int(12_000 * math.sin(2 * math.pi * frequency * at / RATE_HZ))
        for frequency in frequencies_hz
        for at in range(each_samples)
    ]
    data = struct.pack(f"<{len(samples)}h", *samples)
    kind = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE_HZ, 2 * RATE_HZ, 2, 16)
    body = b"WAVE" + kind + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def audio(file: bytes) -> dict[str, Any]:
    """Return a part with a sound in OpenAI's form."""
    return {"type": "input_audio", "input_audio": {"data": b64encode(file).decode(), "format": "wav"}}


def avi(colours: Sequence[Colour], frames_each: int = 4) -> bytes:
    """Return an AVI of frames of one colour each, which are not compressed."""
    frames = [bytes(reversed(colour)) * (SIDE * SIDE) for colour in colours for _ in range(frames_each)]
    size = len(frames[0])
    main = struct.pack("<14I", 100_000, 10 * size, 0, 0x10, len(frames), 0, 1, size, SIDE, SIDE, 0, 0, 0, 0)
    stream = struct.pack(
        "<4s4sIHHIIIIIIII4H", b"vids", b"DIB ", 0, 0, 0, 0, 1, 10, 0, len(frames), size, 0, 0, 0, 0, SIDE, SIDE
    )
    form = struct.pack("<IiiHHIIiiII", 40, SIDE, -SIDE, 1, 24, 0, size, 0, 0, 0, 0)
    strl = _list(b"strl", _chunk(b"strh", stream) + _chunk(b"strf", form))
    header = _list(b"hdrl", _chunk(b"avih", main) + strl)
    movie = _list(b"movi", b"".join(_chunk(b"00db", frame) for frame in frames))
    return _chunk(b"RIFF", b"AVI " + header + movie)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _list(kind: bytes, data: bytes) -> bytes:
    return _chunk(b"LIST", kind + data)


def video(file: bytes) -> dict[str, Any]:
    """Return a part with a clip in the form of vLLM."""
    return {"type": "video_url", "video_url": {"url": f"data:video/x-msvideo;base64,{b64encode(file).decode()}"}}
