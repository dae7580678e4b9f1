"""Small media files that are large once decoded, broken, or harmless."""

from __future__ import annotations

import base64
import struct
import zlib


def data_url(data: bytes, kind: str = "image/png") -> str:
    """Return data as a URL."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def png(width: int, height: int) -> bytes:
    """Return a black image with one bit per pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes((width + 7) // 8 + 1) * height, 9)
    size = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def animation(frames: int) -> bytes:
    """Return a GIF of one pixel with this number of frames."""
    head = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    frame = b"!\xf9\x04\0\n\0\0\0," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02D\x01\0"
    return head + frame * frames + b";"


def wave(seconds: int) -> bytes:
    """Return silence, one byte per sample, 8 samples a second."""
    rate, size = 8, 8 * seconds
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate, 1, 8) + struct.pack("<4sI", b"data", size)
    return b"RIFF" + struct.pack("<I", 4 + len(head) + size) + b"WAVE" + head + bytes([128]) * size
