"""Limits of one connection, and the bytes of its current request, each of which counts against one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PIECE_BYTES: Final = 1024
"""How much is parsed at once where a request may begin: a megabyte of pipelined requests would block all others."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one connection.

    head_bytes: maximum size of the request line and the headers together.
    head_s: maximum time from the first byte of a request to the end of its head.
    body_s: maximum time from the end of the head to the end of the body.
    body_bytes: maximum size of a body as it is sent, including what is discarded after a refusal.
    framing_bytes: maximum size of everything in a chunked body that is not its content: sizes, extensions, trailers.
    unread_s: maximum time that a response may wait for a client that does not read.
    idle_s: how long a connection may stay open without a request. It is longer than clients keep idle connections, so
        that no client sends a request on a connection that the server is closing.
    """

    head_bytes: int = 65_536
    head_s: float = 10.0
    body_s: float = 60.0
    body_bytes: int = 64 * 2**20
    framing_bytes: int = 2**20
    unread_s: float = 60.0
    idle_s: float = 75.0


class ByteCounts:
    """Counts the bytes of one request after another on a connection."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._head = self._body = self._framing = 0
        self._content_left: int | None = None  # of a body with a length

    def begin_head(self) -> None:
        """Start counting a head, or what follows a complete request."""
        self._head = 0

    def begin_body(self, content_length: int | None) -> None:
        """Start counting a body. content_length: None if it is chunked."""
        self._body = self._framing = 0
        self._content_left = content_length

    def piece_bytes(self, *, in_body: bool) -> int:
        """Return how many bytes to parse next: no piece ends a body and begins many further requests."""
        if not in_body:
            return min(PIECE_BYTES, self._limits.head_bytes - self._head)
        return PIECE_BYTES if self._content_left is None else max(1, self._content_left)

    def add(self, count: int, *, in_body: bool) -> None:
        """Count bytes that are about to be parsed, or that were discarded."""
        if in_body:
            self._body += count
            self._framing += count
        else:
            self._head += count

    def add_content(self, count: int) -> None:
        """Count bytes that turned out to be content of the body."""
        self._framing -= count
        if self._content_left is not None:
            self._content_left -= count

    def excess(self, *, in_body: bool) -> tuple[int, str] | None:
        """Return the status and the message for a request that is larger than a limit, else None."""
        limits = self._limits
        if not in_body:
            words = f"the request head is larger than {limits.head_bytes} bytes: shorten it"
            return (431, words) if self._head >= limits.head_bytes else None
        if self._framing > limits.framing_bytes:
            words = f"the chunk sizes, chunk extensions and trailers have more than {limits.framing_bytes} bytes"
            return 413, f"{words}: send larger chunks"
        if self._body > limits.body_bytes:
            return 413, f"the body is larger than {limits.body_bytes} bytes: shorten it"
        return None
