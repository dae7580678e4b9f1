"""Decode the content coding of an answer while it arrives: gzip and deflate, which clients send and zlib can read.

An answer is decoded only if its request accepts the coding; otherwise the coding itself is a defect, and the bytes are
recorded as they are. Secrets could not be found in coded bytes, so the record has the decoded ones.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    RawHeaders = Iterable[tuple[bytes, bytes]]

GZIP: Final = ("gzip", "x-gzip")
DEFLATE: Final = "deflate"
DECODED: Final = (*GZIP, DEFLATE)
HEADER_BYTES: Final = 2
"""Bytes of a body that tell deflate with its header from deflate without it."""
_GZIP_WINDOW: Final = 31
_ZLIB_WINDOW: Final = 15
_RAW_WINDOW: Final = -15


class CodingError(Exception):
    """The body is not valid in its content coding. The message is one line."""


def accepted_codings(header: str) -> frozenset[str]:
    """Return the content codings that an Accept-Encoding header accepts, in lower case; `*` stands for any other."""
    accepted = set()
    for item in header.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        weights = [value.removeprefix("q=").strip() for value in parameters if value.startswith("q=")]
        if name and not any(weight and not weight.strip("0.") for weight in weights):
            accepted.add(name)
    return frozenset(accepted)


class ContentDecoder:
    """Decodes the pieces of one body. `coding` is gzip or deflate."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._zlib = zlib.decompressobj(_GZIP_WINDOW if coding in GZIP else _ZLIB_WINDOW)
        self._begun = False
        self._held = b""

    def feed(self, piece: bytes, limit: int) -> bytes:
        """Return what can be decoded with one more piece of the body, `limit` bytes at most. Raises CodingError."""
        piece, self._held, decoded = self._held + piece, b"", b""
        if not self._begun and len(piece) < HEADER_BYTES:
            self._held, piece = piece, b""
        while piece and len(decoded) < limit:
            if self._zlib.eof:
                if self._coding not in GZIP:
                    raise CodingError(
                        f"the {self._coding} body has {format_quantity(len(piece), 'byte')} after its end"
                    )
                self._zlib = zlib.decompressobj(_GZIP_WINDOW)  # RFC 1952: there may be several parts
            decoded += self._decompress(piece, limit - len(decoded))
            piece = self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail
        return decoded

    def _decompress(self, piece: bytes, limit: int) -> bytes:
        try:
            decoded = self._zlib.decompress(piece, limit)
        except zlib.error as error:
            if self._begun or self._coding in GZIP:
                raise CodingError(f"the body is not valid {self._coding}: {error}") from error
            self._zlib, self._begun = zlib.decompressobj(_RAW_WINDOW), True  # sent by many servers, read by all clients
            return self._decompress(piece, limit)
        self._begun = True
        return decoded

    def end(self) -> None:
        """Note the end of the body. Raises CodingError if it comes too early."""
        if self._held or (self._begun and not self._zlib.eof):
            raise CodingError(f"the {self._coding} body ends early")


def decoder_for(answer: RawHeaders, request: RawHeaders) -> ContentDecoder | None:
    """Return a decoder for an answer; None if it has no coding, or another one than its request accepts."""
    codings = [*_values(answer, b"content-encoding")]
    coding = codings[0].strip().lower() if len(codings) == 1 else ""
    accepted = accepted_codings(",".join(_values(request, b"accept-encoding")))
    return ContentDecoder(coding) if coding in DECODED and accepted & {coding, "*"} else None


def _values(headers: RawHeaders, name: bytes) -> Iterator[str]:
    return (value.decode("latin-1") for key, value in headers if key.lower() == name)
