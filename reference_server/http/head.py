"""Rules of HTTP/1.1 about request heads, as far as httptools does not enforce them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSIONS: Final = ("1.0", "1.1")


class InvalidHead(Exception):
    """A request head that ends the connection. args: status, message."""


def check_head(version: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Raise InvalidHead for a head that httptools accepts and RFC 9112 forbids. headers: names in lower case."""
    if version not in VERSIONS:  # section 2.3
        raise InvalidHead(505, "unsupported HTTP version: expected HTTP/1.1")
    hosts = sum(name == b"host" for name, _ in headers)
    if hosts > 1 or (hosts == 0 and version == "1.1"):  # section 3.2
        raise InvalidHead(400, f"invalid number of Host headers: expected 1, got {hosts}")
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    if codings and version == "1.0":  # section 6.1
        raise InvalidHead(400, "HTTP/1.0 has no Transfer-Encoding: send a Content-Length")
    if codings not in ([], [b"chunked"]):  # section 6.1: a body in an unknown coding cannot be read
        raise InvalidHead(501, "unsupported Transfer-Encoding: expected chunked")


def content_length(headers: Sequence[tuple[bytes, bytes]]) -> int | None:
    """Return the length that a valid head declares; None: the body is chunked or missing."""
    return next((int(value) for name, value in headers if name == b"content-length"), None)
