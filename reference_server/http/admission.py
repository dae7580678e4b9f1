"""Checks before a request body is parsed: API key, content type, body size and number of requests in flight."""

from __future__ import annotations

import asyncio
import hmac
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from starlette.requests import ClientDisconnect

from reference_server.errors import RETRY_AFTER_S, ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.datastructures import Headers
    from starlette.types import Receive, Scope

JSON_TYPES: Final = frozenset({"application/json", "text/json"})
JSON_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii"})
SCHEME: Final = b"bearer"
LARGE_BYTES: Final = 128 * 2**10
"""Size from which a body is large."""
SLOW_TO_COPY_BYTES: Final = 2**20
"""Size from which a copy of a body delays others noticeably."""
MAX_HELD_BYTES: Final = 64 * 2**20
"""Least limit of all bodies together: eight of the largest without media."""


class KeyCheck:
    """Checks API keys in constant time, so that the response time reveals nothing about the key."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def check(self, scope: Scope) -> None:
        """Raise ApiError `unauthorized` without a bearer key, or `invalid_key` with a wrong one."""
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, key = sent[0].partition(b" ") if len(sent) == 1 else (b"", b"", b"")
        key = key.strip()
        if scheme.lower() != SCHEME or not key:
            raise ApiError(
                "unauthorized",
                "missing API key: send one header `Authorization: Bearer KEY`",
                {"WWW-Authenticate": "Bearer"},
            )
        if not hmac.compare_digest(key, self._key):
            raise ApiError("invalid_key", "invalid API key", {"WWW-Authenticate": 'Bearer error="invalid_token"'})


class AdmissionSlots:
    """Limits the number of requests in flight."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.in_use = 0

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Hold a slot until the context is left; raise ApiError `overloaded` if all are in use."""
        if self.in_use >= self._limit:
            raise ApiError(
                "overloaded",
                f"the server already has {self._limit} requests in flight, its maximum: try again later",
                {"Retry-After": str(RETRY_AFTER_S)},
            )
        self.in_use += 1
        try:
            yield
        finally:
            self.in_use -= 1


def check_content_type(headers: Headers) -> None:
    """Raise ApiError `unsupported_media_type` if the headers declare anything but uncompressed JSON in UTF-8.

    A missing Content-Type is accepted, because the path takes nothing else.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise ApiError("unsupported_media_type", "the body is compressed: send it without Content-Encoding")
    kind, _, parameters = headers.get("content-type", "").partition(";")
    if kind.strip() and kind.strip().lower() not in JSON_TYPES:
        raise ApiError("unsupported_media_type", "unsupported Content-Type: expected application/json")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() not in JSON_CHARSETS:
            raise ApiError("unsupported_media_type", "unsupported charset in Content-Type: expected UTF-8")


class BodyMemory:
    """Limits the memory of all large bodies that are being read or parsed.

    Small ones are not counted, as the number of requests in flight limits them, so that large ones never keep them out.
    """

    def __init__(self, limit_bytes: int = MAX_HELD_BYTES, *, small_bytes: int = LARGE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._small_bytes = small_bytes
        self.held_bytes = 0

    @contextmanager
    def hold(self) -> Iterator[Callable[[int], None]]:
        """Yield a function that adds bytes of one body and raises ApiError `overloaded` if there are too many.

        The bytes are released when the context is left.
        """
        read = held = 0

        def add(count: int) -> None:
            nonlocal read, held
            read += count
            more = max(0, read - self._small_bytes) - held
            if more and self.held_bytes + more > self._limit_bytes:
                later = {"Retry-After": str(RETRY_AFTER_S)}
                raise ApiError("overloaded", "the server is reading other large requests: try again later", later)
            self.held_bytes += more
            held += more

        try:
            yield add
        finally:
            self.held_bytes -= held


async def read_body(headers: Headers, receive: Receive, limit_bytes: int, add: Callable[[int], None]) -> bytes:
    """Read the body and count its bytes as they arrive, whatever Content-Length declares.

    add: called with the size of each part before it is kept.

    Raises ApiError `too_large` as soon as the limit is exceeded, and ClientDisconnect.
    """
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 20 and int(length) > limit_bytes:
        raise _too_large(limit_bytes)
    parts: list[bytes] = []
    read = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        read += len(part)
        if read > limit_bytes:
            raise _too_large(limit_bytes)
        add(len(part))
        parts.append(part)
        if not message.get("more_body", False):
            # The event loop delivers tokens to others, who would wait for the copy of megabytes.
            return b"".join(parts) if read < SLOW_TO_COPY_BYTES else await asyncio.to_thread(b"".join, parts)


def _too_large(limit_bytes: int) -> ApiError:
    # The connection stays open. uvicorn discards the rest of the body as it arrives, so a client that writes its whole
    # request before it reads gets this response instead of a connection reset.
    return ApiError("too_large", f"the body is larger than {limit_bytes} bytes: shorten it")
