"""Media inside the request: strict base64, bare or in a data URL."""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import TYPE_CHECKING, Final

from reference_server.media.limits import MediaError

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA_URL: Final = re.compile(
    r"data:(?P<type>[a-z]+/[a-z0-9.+-]+)?(?:;[a-z0-9-]+=[^;,]*)*(?P<base64>;base64)?,", re.ASCII
)
LONGEST_HEAD: Final = 256
PIECE: Final = 1 << 20
"""Characters that are decoded at once, a multiple of four."""


def is_data_url(location: str) -> bool:
    """Return whether a location is a data URL, valid or not."""
    return location[:5].lower() == "data:"


def read_data_url(location: str | memoryview, limit_bytes: int) -> bytes:
    """Return the bytes of a data URL, as text or in ASCII; raise MediaError."""
    begin = location[:LONGEST_HEAD]
    head = DATA_URL.match((begin if isinstance(begin, str) else str(begin, "ascii")).lower())
    if head is None or head["base64"] is None:
        raise MediaError("invalid data URL: expected data:TYPE;base64,DATA")
    return read_base64(location, limit_bytes, head.end())


def read_base64(text: str | memoryview, limit_bytes: int, start: int = 0) -> bytes:
    """Return the bytes of base64 without line ends, with all its padding; raise MediaError.

    A string that is too long is refused before it is decoded. start: where the base64 begins in the string.
    """
    length = len(text) - start
    if length * 3 // 4 > limit_bytes + 2:
        raise MediaError(f"the file is larger than {limit_bytes} bytes")
    try:
        data = b"".join(_decode_pieces(text.encode("ascii") if isinstance(text, str) else text, start))
    except (Base64Error, UnicodeEncodeError) as error:
        reason = "a character that is not ASCII" if isinstance(error, UnicodeEncodeError) else str(error)
        raise MediaError(f"invalid base64: {reason}") from None
    if length % 4:
        raise MediaError("invalid base64: incomplete padding")
    if not data:
        raise MediaError("the file is empty")
    if len(data) > limit_bytes:
        raise MediaError(f"the file is larger than {limit_bytes} bytes")
    return data


def _decode_pieces(text: bytes | memoryview, start: int) -> Iterator[bytes]:
    """Yield the decoded pieces of a string. Between two of them other threads run: 40 MB at once would take 0.1 s."""
    last = start + (len(text) - start - 1) // PIECE * PIECE
    for at in range(start, len(text), PIECE):
        piece = a2b_base64(text[at : at + PIECE], strict_mode=True)
        if at < last and len(piece) < PIECE // 4 * 3:
            raise Base64Error("padding before the end")
        yield piece
